// Package rows are the lines of a run's tables: a mutation, a proxy, a second.
// They are saved as CSV files beside the result.
package rows
