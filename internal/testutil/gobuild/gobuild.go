// Package gobuild builds commands of this module for tests that run them as
// processes.
package gobuild

import (
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"testing"
)

// flags are those of the build of the tests, so that what was compiled for them is
// not compiled again.
var flags = []string{"build"}

// Build builds the command with the given import path, and returns the path of
// the executable, which lasts as long as the test.
func Build(tb testing.TB, importPath string) string {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), path.Base(importPath))
	cmd := exec.CommandContext(tb.Context(), "go", append(slices.Clone(flags), "-o", out, importPath)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", cmd, err, text)
	}
	return out
}
