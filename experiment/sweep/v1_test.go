package sweep_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xdsbench/xdsbench/experiment/sweep"
	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/testutil/golden"
)

// The folder testdata/v1 was written by the version before result schema v2, and
// v1-report.json is the report that this version made of it.
func TestSweepOfSchemaV1HasTheFiguresAndTheAdviceThatItHad(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "v1-report.json"))
	if err != nil {
		t.Fatal(err)
	}
	for old, now := range map[string]string{
		`"pushes"`: `"controlPlane.work.pushes"`, `"debounceRounds"`: `"controlPlane.work.debounceRounds"`,
		`"propagation.unreached"`: `"propagation.undelivered"`,
	} {
		data = []byte(strings.ReplaceAll(string(data), old, now))
	}
	var want sweep.Report
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	got := report(t, filepath.Join("testdata", "v1"))
	if diff := cmp.Diff(want.Settings, got.Settings, cmpopts.IgnoreFields(sweep.Figure{}, "Note")); diff != "" || len(got.Settings) != 2 {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Front, got.Front); diff != "" || got.Partial || got.Advice.Setting != want.Advice.Setting {
		t.Errorf("front, partial %v, advice %q:\n%s", got.Partial, got.Advice.Setting, diff)
	}
}

func TestSweepOfSchemaV1IsRendered(t *testing.T) {
	t.Parallel()
	r := report(t, filepath.Join("testdata", "v1"))
	golden.Check(t, "v1.txt", func(w io.Writer) error { return r.Document("DIR").Text(w, doc.TextOptions{Width: 110}) })
	golden.Check(t, "v1.md", r.Document("").Markdown)
}

func TestSweepOfSchemaV1IsResumed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "v1"))); err != nil {
		t.Fatal(err)
	}
	plan := *report(t, dir).Plan
	lost := filepath.Join("02-PILOT_DEBOUNCE_AFTER=100ms", "2")
	f := &fake{outcomes: four()}
	err := errors.Join(os.RemoveAll(filepath.Join(dir, "runs", lost)), sweep.Run(t.Context(), sweep.Config{Dir: dir, Plan: &plan, Run: f.run}))
	if diff := cmp.Diff([]string{lost}, f.made); err != nil || diff != "" {
		t.Errorf("error %v, runs (-want +got):\n%s", err, diff)
	}
}

func TestMetricsOfSLOsInOldPlansGetTheirPresentNames(t *testing.T) {
	t.Parallel()
	_, dir := swept(t, plan(t, 1, "1s", "10ms"), four())
	path := filepath.Join(dir, "sweep.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(string(data), `"propagation.all.p99": "1s"`, `"propagation.unreached": "0"`, 1)
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil || old == string(data) {
		t.Fatal(err, "or no SLO in the plan")
	}
	if diff := cmp.Diff(map[string]string{"propagation.undelivered": "0"}, report(t, dir).Plan.Base.SLO); diff != "" {
		t.Error(diff)
	}
}
