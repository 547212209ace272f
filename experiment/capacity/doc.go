// Package capacity finds the largest load that keeps the SLO, and how the cost
// grows up to there.
//
// The search grows one field of a profile by a factor until the SLO breaks, the
// range ends or the harness is the bottleneck, and then bisects. A run that breaks
// the SLO is repeated before it is believed: only two broken runs break a load. If
// the harness was the bottleneck in either, one larger load is tried before the
// answer becomes a lower bound, for a load can saturate the harness by bad luck.
// A last, longer run at the found load, the soak, confirms it or lowers the answer.
//
// In reading order: plan.go, search.go, probe.go (one load, and the verdict on it),
// answer.go, report.go (what is saved), document.go (what is shown). The package
// sizing fits the cost.
package capacity
