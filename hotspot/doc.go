// Package hotspot says where a control plane spends its processor time and its
// memory: it sums a pprof profile up by parts of the control plane's work, such
// as EDS generation or protobuf encoding. One table of rules maps functions to
// parts, for istiod and for the embedded control plane; see [Summarise] for how
// it is read.
package hotspot
