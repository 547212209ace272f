// Package sweep runs a load profile once for each combination of settings, several
// times over, and weighs the settings against each other: latency against what
// the control plane spends.
//
// A sweep lives in a folder. The plan is written first; each run has a folder of
// its own, so that an interrupted sweep can be resumed; reports are made
// from what is saved there alone.
package sweep
