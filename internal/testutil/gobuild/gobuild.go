// Package gobuild builds commands of this module for tests that run them as
// processes.
package gobuild

import (
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"testing"
)

// Build builds the command with the given import path, and returns the path of
// the executable, which lasts as long as the test. It has the race detector if the
// test has, so that what was compiled for the test is not compiled again.
func Build(tb testing.TB, importPath string) string {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), path.Base(importPath))
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-race="+strconv.FormatBool(withRace), "-o", out, importPath)
	if text, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", cmd, err, text)
	}
	return out
}
