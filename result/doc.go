// Package result is what a run found: its schema, and how it is saved and loaded.
//
// A Result is the only thing that reports, comparisons, sweeps and capacity
// searches know of a run. Sections and distributions that a run did not measure
// are absent, never zero. Times are seconds, sizes are bytes.
//
// In its folders: observed, the sections on the control plane; rows, the lines of
// the CSV files; metric, the numbers of a result by name, and SLOs on them;
// verdict, what the numbers mean.
package result
