// Package compare says how two sets of runs differ, and whether the new one is a
// regression.
//
// A set is one result or a folder of repeated ones; the run is the sample, so a
// run counts once however many deliveries it has. Every metric is compared by the
// Mann-Whitney U test, which assumes nothing of how runs scatter, with medians
// (golang.org/x/perf/benchmath).
//
// At a level of 5 %, one in twenty comparisons of equal builds finds a difference,
// so forty metrics would find two. Therefore only a few metrics decide: those of
// the profile's SLOs, and latency, CPU, memory and bytes. Holm's method corrects
// their p-values for their number (A simple sequentially rejective multiple test
// procedure, Scandinavian Journal of Statistics 6, 1979), so that the chance of
// any false finding among them stays below the level. A metric that has the same
// value in all runs of both sets cannot be found, and does not count (Tarone, A
// modified Bonferroni method for discrete data, Biometrics 46, 1990). All other
// metrics are informational: they are flagged, corrected among themselves for the
// false discovery rate (Benjamini and Hochberg, Controlling the false discovery
// rate, Journal of the Royal Statistical Society B 57, 1995).
//
// Five deciding metrics at 5 % need p <= 0.01 for one of them to be found, which 5
// runs on each side can reach (0.008) and 4 cannot (0.029).
//
// Counts of defects need no statistics: zero in every old run and more in any new
// one is a regression.
package compare
