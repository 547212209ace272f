// Package sizing fits what a control plane costs, from results of runs, and
// predicts what it costs at other sizes.
//
// All fits are ordinary least squares (QR) over terms with a meaning, with 95 %
// intervals by Student's t:
//
//	memory        peak RSS = fixed + a·proxies + b·services + c·services·endpoints + d·proxies·configBytes
//	CPU           cores in steady load = idle + c1·pushes/s + c2·bytes/s
//	connect CPU   seconds outside steady load = fixed + a·proxies + b·proxies·configBytes
//	latency       p99 = α + β·N + γ·N², the Universal Scalability Law
//
// A push is one response received by one proxy. Pushes and bytes count from the
// start of steady load to the end of the drain, as the CPU does. The CPU is a mean
// over that time and is fitted against the pushes per second of it; loads and
// predictions are per second of the steady phase alone.
//
// The law (Gunther, Guerrilla Capacity Planning, 2007) gives the throughput at
// load N as λN/(1 + σ(N−1) + κN(N−1)); the latency, N over throughput by
// Little's law, is then (1 + σ(N−1) + κN(N−1))/λ: a polynomial of second degree
// that can be fitted without iteration. N is the load in units of the smallest
// measured one. The load is the number of proxies or the pushes per second,
// whichever leaves the smaller residuals. The latency's errors are taken in
// proportion to it. Runs in which the control plane did not keep up, so that their
// latency is several times the law's, are left out and listed.
//
// A term that did not vary, or that the terms before it explain, is left out, and
// a note says which term its cost is in. So is a term that comes out negative: no
// cost is below zero.
package sizing
