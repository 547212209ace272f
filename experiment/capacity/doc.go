// Package capacity finds the largest load that keeps the SLO, and how the cost
// grows up to there.
//
// The search grows one field of a profile by a factor until the SLO breaks, the
// range ends or the harness is the bottleneck, and then bisects. A run that
// breaks the SLO is made again before it is believed: only two broken runs break
// a point. A last, longer run at the found point, the soak, confirms it or lowers
// the answer. Where the harness gives out before the control plane, the answer is
// a lower bound and says so.
//
// The package sizing fits the cost; the report of both is made from what is saved
// in the folder.
package capacity
