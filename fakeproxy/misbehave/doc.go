// Package misbehave says how fake proxies misbehave on purpose: it has the
// sections of a profile, and what is drawn for them from the run's seed.
package misbehave
