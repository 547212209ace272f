package compare_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/experiment/compare"
	"github.com/xdsbench/xdsbench/result"
)

func TestLoadTakesAResultAFolderAndAFolderOfFolders(t *testing.T) {
	dir := save(t, 1, 3)
	renamed := filepath.Join(t.TempDir(), "baseline.json")
	data, err := os.ReadFile(filepath.Join(dir, "run-1", result.ResultFile))
	if err == nil {
		err = os.WriteFile(renamed, data, 0o600)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(err, os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		dir: 3, filepath.Dir(dir): 3, link: 3, renamed: 1,
		filepath.Join(dir, "run-0"): 1, filepath.Join(dir, "run-0", result.ResultFile): 1,
	} {
		s, err := compare.Load(path)
		if err != nil || len(s.Runs) != want {
			t.Errorf("%s: %v, want %d runs: %+v", path, err, want, s)
		}
	}
}

func TestLoadNamesWhatIsWrong(t *testing.T) {
	mixed := save(t, 1, 2)
	file := filepath.Join(mixed, "run-1", result.ResultFile)
	if err := os.WriteFile(file, []byte(`{"schema":"xdsbench/result/v0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(mixed, "none"): "no such file",
		t.TempDir():                  "there is no result.json in it or below it",
		mixed:                        `its schema is "xdsbench/result/v0"`,
	} {
		if _, err := compare.Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
	}
}

func TestANumberThatAnotherVersionDidNotWriteIsAbsentNotZero(t *testing.T) {
	dir := save(t, 1, 1)
	file := filepath.Join(dir, "run-0", result.ResultFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	without := bytes.Replace(data, []byte(`"undelivered": 0,`), nil, 1)
	if err := os.WriteFile(file, without, 0o600); err != nil || bytes.Equal(data, without) {
		t.Fatal(err, "or the file has no such field")
	}
	old, err := compare.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := compared(t, old, set(t, 2, 1, func(r *result.Result, _ int) { r.Propagation.Undelivered = 7 }), options())
	m := metric(t, r, "propagation.undelivered")
	if m.Verdict != "absent" || m.Old != nil || r.Conclusion == compare.Regressed {
		t.Errorf("%s: %+v", r.Conclusion, m)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "propagation.undelivered decides") }) {
		t.Errorf("warnings %v", r.Warnings)
	}
}

func TestDifferencesAndQuestionableRunsAreListed(t *testing.T) {
	elsewhere := func(r *result.Result, n int) {
		r.Environment.CPUModel, r.Environment.Memory = "Model B", 16e9
		r.Environment.Versions["target"] = "1.30"
		r.Environment.TargetEnv = map[string]string{"PATH": "/usr/bin", "PILOT_X": "1"}
		if n == 1 {
			r.Profile = bytes.Replace(r.Profile, []byte("5/s"), []byte("6/s"), 1)
			r.Partial = true
			r.Harness.Saturated, r.Harness.Reasons = true, []string{"too slow"}
			r.SLO = []result.SLO{{Metric: "propagation.all.p99", Limit: "1ms"}}
		}
	}
	o := options()
	o.AllowDifferentLoad = true
	r := compared(t, set(t, 1, 2), set(t, 2, 2, elsewhere), o)
	var fields []string
	for _, d := range append(r.Environment, r.Profile...) {
		fields = append(fields, d.Field)
	}
	if want := []string{"cpuModel", "memory", "targetEnv.PILOT_X", "versions.target", "churn[0].rate"}; !slices.Equal(fields, want) {
		t.Errorf("differences %v, want %v", fields, want)
	}
	all := strings.Join(r.Warnings, "\n")
	for _, want := range []string{
		"not under the same load, which may be all that differs: churn[0].rate: 5/s -> 5/s, 6/s",
		"the new runs are not repeats of one another: their profiles differ in churn[0].rate (5/s, 6/s)",
		"1 of 2 new runs are questionable", "PARTIAL: ", "SATURATED: too slow", "SLO MISSED: propagation.all.p99",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in:\n%s", want, all)
		}
	}
	if strings.Contains(all, "old runs") {
		t.Errorf("the old runs are in order:\n%s", all)
	}
}

func TestCopiesOfOneRunAreNoRepeats(t *testing.T) {
	same := func(r *result.Result, _ int) { r.Environment.RunID = "abc" }
	r := compared(t, set(t, 1, 3, same), set(t, 2, 3), options())
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "copies of one run (abc)") }) {
		t.Errorf("warnings %v", r.Warnings)
	}
}
