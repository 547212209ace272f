//go:build !race

package gobuild

const withRace = false
