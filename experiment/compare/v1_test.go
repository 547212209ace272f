package compare_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xdsbench/xdsbench/experiment/compare"
	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/testutil/golden"
	"github.com/xdsbench/xdsbench/result"
)

// v1 compares two runs that the version before result schema v2 saved.
func v1(t *testing.T) *compare.Report {
	t.Helper()
	before, err := compare.Load(filepath.Join("testdata", "v1", "old"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := compare.Load(filepath.Join("testdata", "v1", "new"))
	if err != nil {
		t.Fatal(err)
	}
	return compared(t, before, after, options())
}

// The file v1-report.json is the comparison that the same version made of them.
func TestRunsOfSchemaV1CompareAsTheyDid(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "v1-report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want compare.Report
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for i := range want.Metrics {
		m := &want.Metrics[i]
		if now, ok := result.RenamedMetric(m.Name); ok {
			m.Name = now
		}
		if strings.HasPrefix(m.Name, "controlPlane.signals.traffic.") { // pushes: none failed
			m.Name = "controlPlane.work.pushes"
		}
		m.Note = strings.Replace(m.Note, "beyond one run's noise: 103 ms to 104 ms", "beyond within-run scatter: 103 to 104 ms", 1)
		m.Note = strings.Replace(m.Note, "beyond one run's noise: 179 ms to 204 ms, 1.11 s to 3 s", "beyond within-run scatter: 179 to 204 ms, 1.11 to 3 s", 1)
	}
	if diff := cmp.Diff(&want, v1(t), cmpopts.IgnoreFields(compare.SetInfo{}, "Path", "Runs", "Verdicts"), cmpopts.IgnoreFields(compare.Side{}, "Note"), cmpopts.IgnoreUnexported(compare.Metric{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestComparisonOfSchemaV1IsRendered(t *testing.T) {
	t.Parallel()
	golden.Check(t, "v1.txt", func(w io.Writer) error { return v1(t).Document().Text(w, doc.TextOptions{Width: 110}) })
}
