// Package calibrate runs the harness against the embedded control plane with
// known faults and compares what the results report with what the control plane
// recorded that it injected (faults.Record).
//
// Delays. Nothing but the delay may differ between two runs that are compared.
// A push to hundreds of proxies keeps a small machine busy for longer than the
// shortest delay, and how it does so changes when the pushes are held back. So
// every delay run, and the baseline that they are compared with, also spreads
// the proxies over 200 ms, by an offset that is fixed per proxy: each delivery
// then has the machine to itself. The rest of a delivery's way (API write,
// watch, push, wire) costs well under a millisecond, the same in all runs.
//
// A constant delay is measured as the difference between a quantile of
// propagation.all and the baseline's, and compared with the same difference of
// the recorded delays. A distribution changes the shape, so that differences
// say little: there, the quantile less the baseline's own cost (the median of
// propagation.all less that of the recorded delays) is compared with the
// quantile of what was recorded. The limit is 1 ms or 2 %, whichever is more.
//
// Everything else is injected in one run and must be found exactly. From the
// record follows what every row of proxies.csv and mutations.csv must say: which
// proxies got nothing, which mutations reached nobody, which pairs were never
// reached or only through a later state, how many clusters are wrong at each
// proxy in the end. The churn of that run only adds endpoints, so that no state
// recurs and every write is visible.
package calibrate
