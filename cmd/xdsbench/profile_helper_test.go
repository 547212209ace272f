package main

import (
	"os"
	"path/filepath"
	"testing"
)

// profile writes a profile's YAML to a file and returns its name.
func profile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
