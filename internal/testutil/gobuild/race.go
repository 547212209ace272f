//go:build race

package gobuild

func init() { flags = append(flags, "-race") }
