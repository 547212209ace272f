// Package self is what the harness knows of its own process: processor time,
// memory, pauses of the garbage collector, its host, a profile of itself. It also
// keeps the garbage within a budget.
package self
