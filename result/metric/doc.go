// Package metric gives the numbers of a result by name, such as
// "propagation.all.p99", with their units, and judges limits on them (SLOs). Names
// are the JSON names of the schema, joined by dots; a "*" stands for any key of a
// map.
package metric
