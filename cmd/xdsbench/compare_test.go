package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/experiment/compare"
	"github.com/xdsbench/xdsbench/result"
)

// saveRuns saves n results with a p99 near the given one, of a profile if one is given.
func saveRuns(t *testing.T, n int, p99 float64, profile ...byte) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		r := &result.Result{
			Schema: result.Schema, Profile: profile,
			Propagation: &result.Propagation{
				All: &result.Distribution{Count: 10, P50: 0.1, P99: p99 * (1 + float64(i)/100)}, Deliveries: 10, Expected: 10,
			},
		}
		if err := r.Save(filepath.Join(dir, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCompareExitsFiveOnARegressionOnly(t *testing.T) {
	old, same, slow := saveRuns(t, 5, 0.2), saveRuns(t, 5, 0.2), saveRuns(t, 5, 0.5)
	for _, c := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{old, same}, exitDone, "OK  no regression found"},
		{[]string{old, slow}, exitRegression, "REGRESSION  1 metric is worse"},
		{[]string{slow, old}, exitDone, "1 better"},
		{[]string{old, slow, "--threshold", "propagation.all.p99=300%"}, exitDone, "not beyond the threshold"},
		{[]string{old, slow, "--metric", "propagation.all.p50"}, exitDone, "OK"},
		{[]string{filepath.Join(old, "0"), filepath.Join(slow, "0")}, exitDone, "UNDECIDED"},
		{[]string{old, slow, "--format", "markdown"}, exitRegression, "| • | `propagation.all.p99` |"},
	} {
		code, stdout, stderr := command(t.Context(), append([]string{"compare"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout, c.out) {
			t.Errorf("%v: exit %d, want %d and %q:\n%s%s", c.args, code, c.code, c.out, stdout, stderr)
		}
		if (code == exitRegression) != strings.Contains(stderr, "regression: propagation.all.p99") {
			t.Errorf("%v: exit %d: %s", c.args, code, stderr)
		}
	}
}

func TestCompareOfRunsWithoutDataFails(t *testing.T) {
	dir := t.TempDir()
	r := &result.Result{Schema: result.Schema, Proxies: &result.Proxies{Requested: 5}}
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command(t.Context(), "compare", saveRuns(t, 1, 0.2), dir); code != exitFailed || !strings.Contains(stderr, dir) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestCompareWritesJSONToAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "compare.json")
	code, stdout, stderr := command(t.Context(), "compare", saveRuns(t, 5, 0.2), saveRuns(t, 5, 0.5), "--format", "json", "-o", file)
	if code != exitRegression || stdout != "" {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r compare.Report
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Schema != "xdsbench/compare/v1" || r.Conclusion != compare.Regressed || len(r.Regressions) != 1 || len(r.Old.Runs) != 5 || len(r.Metrics) < 3 {
		t.Errorf("%+v", r)
	}
}

func TestCompareRefusesBadInput(t *testing.T) {
	dir := saveRuns(t, 1, 0.2)
	for want, args := range map[string][]string{
		"no such file":                  {dir, filepath.Join(dir, "none")},
		"there is no result.json":       {t.TempDir(), dir},
		"in both sets":                  {dir, dir},
		"accepts 2 arg(s)":              {dir},
		"--format: \"xml\"":             {dir, dir, "--format", "xml"},
		"--alpha 7":                     {dir, dir, "--alpha", "7"},
		"--threshold \"10\"":            {dir, dir, "--threshold", "10"},
		"\"latency\" is not a metric":   {dir, dir, "--metric", "latency"},
		"churn: absent -> x":            {dir, saveRuns(t, 1, 0.2, []byte(`{"churn":"x"}`)...)},
		"no run has any of the metrics": {dir, saveRuns(t, 1, 0.2), "--metric", "controlPlane.cpuSeconds"},
	} {
		code, stdout, stderr := command(t.Context(), append([]string{"compare"}, args...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d, want %q:\n%s%s", args, code, want, stdout, stderr)
		}
	}
}
