package metric_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/result/metric"
)

// documented returns the names of metrics in docs/metrics.md, endings expanded.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	endings := map[string][]string{
		".L": {"count", "min", "mean", "p50", "p90", "p99", "p999", "max"},
		".S": {"count", "mean", "p50", "p99", "p50Bucket.low", "p50Bucket.high", "p99Bucket.low", "p99Bucket.high", "share"},
		".Q": {"count", "mean", "p50", "p90", "p99", "p50Bucket.low", "p50Bucket.high", "p99Bucket.low", "p99Bucket.high"},
		".T": {"responses", "resources", "removed", "bytes"},
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			name := m[1]
			if i := strings.LastIndexByte(name, '.'); i > 0 && endings[name[i:]] != nil {
				for _, ending := range endings[name[i:]] {
					names = append(names, name[:i]+"."+ending)
				}
				continue
			}
			names = append(names, name)
		}
	}
	return names
}

func TestEveryMetricIsDocumented(t *testing.T) {
	names := documented(t)
	for _, name := range metric.Names() {
		if !slices.Contains(names, name) {
			t.Errorf("docs/metrics.md does not say what %s is", name)
		}
	}
}

func TestNoDocumentedMetricIsGone(t *testing.T) {
	known := metric.Names()
	for _, name := range documented(t) {
		// Columns of timeline.csv and the endings themselves have no dot inside.
		if strings.Contains(strings.TrimPrefix(name, "."), ".") && !slices.Contains(known, name) {
			t.Errorf("docs/metrics.md documents %s, which is not in a result", name)
		}
	}
}
