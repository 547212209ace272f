package fakeproxy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table of rules names tests; it must not name ones that are gone.
func TestConformanceTableNamesTestsThatExist(t *testing.T) {
	table, err := os.ReadFile("../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, pattern := range []string{"*_test.go", "adsconn/h2/*_test.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	var code strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(b)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllStringSubmatch(string(table), -1)
	if len(named) < 40 {
		t.Errorf("only %d tests named", len(named))
	}
	for _, m := range named {
		if !strings.Contains(code.String(), "func "+m[1]+"(") {
			t.Errorf("docs/conformance.md names %s, which does not exist", m[1])
		}
	}
}
