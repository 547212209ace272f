// Package observed is the part of a result that was read from the control plane:
// its cost, its own metrics, the stages and signals made of them, its profiles.
package observed
