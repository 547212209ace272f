package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/experiment/sweep"
)

func four() map[string]outcome {
	return map[string]outcome{
		"10ms":  {p99: []float64{0.010}, cpu: []float64{8}},
		"50ms":  {p99: []float64{0.050}, cpu: []float64{4}},
		"100ms": {p99: []float64{0.100}, cpu: []float64{3}},
		"500ms": {p99: []float64{0.500}, cpu: []float64{2}},
	}
}

func TestOrderIsRandomInWholeRoundsAndFixedByTheSeed(t *testing.T) {
	t.Parallel()
	made := func(seed uint64) []string {
		p := plan(t, 3, "", "10ms", "50ms", "100ms", "500ms")
		p.Base.Seed = seed
		f := &fake{outcomes: four()}
		if err := sweep.Run(t.Context(), sweep.Config{Dir: filepath.Join(t.TempDir(), "out"), Plan: p, Run: f.run}); err != nil {
			t.Fatal(err)
		}
		return f.made
	}
	order := made(1)
	if diff := cmp.Diff(order, made(1)); diff != "" {
		t.Errorf("one seed, two orders:\n%s", diff)
	}
	different := false
	for seed := uint64(2); seed < 6; seed++ {
		different = different || !slices.Equal(order, made(seed))
	}
	if !different {
		t.Error("the order does not depend on the seed")
	}
	for round := range 3 {
		part := order[4*round : 4*round+4]
		seen := make(map[string]bool)
		for _, name := range part {
			if filepath.Base(name) != fmt.Sprint(round+1) {
				t.Errorf("round %d has run %s", round+1, name)
			}
			seen[filepath.Dir(name)] = true
		}
		if len(seen) != 4 {
			t.Errorf("round %d is not whole: %v", round+1, part)
		}
	}
}

func TestInterruptedSweepGoesOnAndEndsInTheSameReport(t *testing.T) {
	t.Parallel()
	p := plan(t, 3, "", "10ms", "50ms", "100ms", "500ms")
	want, _ := swept(t, p, four())
	dir := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{outcomes: four(), stopAt: 6, cancel: cancel}
	var last sweep.Progress
	cfg := sweep.Config{Dir: dir, Plan: p, Run: f.run, Progress: func(p sweep.Progress) { last = p }}
	if err := sweep.Run(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if last.Run != 6 || last.Runs != 12 || last.Setting == "" || last.Left <= 0 {
		t.Errorf("progress: %+v", last)
	}
	half := report(t, dir)
	wantText(t, text(t, half), "PARTIAL", "5 of 12 runs finished", "still to be made")
	if !half.Partial {
		t.Error("the report is not marked partial")
	}
	f.stopAt = 0
	for range 2 { // the second time there is nothing left to run
		if err := sweep.Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.made) != 6+7 {
		t.Errorf("%d runs, want 13: the 6 before the interrupt, and the 7 that were not finished: %v", len(f.made), f.made)
	}
	if diff := cmp.Diff(text(t, want), text(t, report(t, dir))); diff != "" {
		t.Errorf("the report of a resumed sweep differs:\n%s", diff)
	}
}

func TestFailingSettingIsShownAndTriedAgain(t *testing.T) {
	t.Parallel()
	outcomes := four()
	outcomes["50ms"] = outcome{err: errors.New("the target would not start")}
	p := plan(t, 2, "", "10ms", "50ms", "100ms")
	r, dir := swept(t, p, outcomes)
	if diff := cmp.Diff([]string{debounce + "=50ms"}, r.Failed()); diff != "" {
		t.Error(diff)
	}
	if r.Partial || slices.Contains(r.Front, "02-"+debounce+"=50ms") {
		t.Errorf("partial %v, front %v", r.Partial, r.Front)
	}
	wantText(t, text(t, r), "FAIL", "the target would not start", "0 of 2  failed")
	f := &fake{outcomes: four()}
	if err := sweep.Run(t.Context(), sweep.Config{Dir: dir, Plan: p, Run: f.run}); err != nil || len(f.made) != 2 {
		t.Errorf("%v; runs made: %v, want the two that failed", err, f.made)
	}
	if r := report(t, dir); len(r.Failed()) > 0 {
		t.Errorf("still failed: %v", r.Failed())
	}
}

func TestAnotherPlanInTheFolderIsRefusedWithWhatDiffers(t *testing.T) {
	t.Parallel()
	_, dir := swept(t, plan(t, 1, "", "10ms", "50ms"), four())
	other := plan(t, 2, "", "10ms", "100ms")
	other.Base.Seed = 7
	err := sweep.Run(t.Context(), sweep.Config{Dir: dir, Plan: other, Run: (&fake{outcomes: four()}).run})
	if !errors.Is(err, sweep.ErrOtherPlan) {
		t.Fatalf("error %v", err)
	}
	wantText(t, err.Error(), "--repeat: 1, not 2", "profile.seed: 1, not 7", debounce+"=10ms,50ms, not", dir, "-o")
	if strings.Contains(err.Error(), "profile.mesh") {
		t.Errorf("what does not differ is named: %v", err)
	}
	crossed := plan(t, 1, "", "10ms")
	crossed.Vary = append(crossed.Vary, sweep.Vary{Field: "seed", Values: []string{"1"}})
	_, crossedDir := swept(t, crossed, four())
	turned := *crossed
	turned.Vary = []sweep.Vary{crossed.Vary[1], crossed.Vary[0]}
	err = sweep.Run(t.Context(), sweep.Config{Dir: crossedDir, Plan: &turned, Run: (&fake{outcomes: four()}).run})
	if !errors.Is(err, sweep.ErrOtherPlan) || !strings.Contains(err.Error(), "order of --vary") {
		t.Errorf("fields in another order: %v", err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sweep.Run(t.Context(), sweep.Config{Dir: foreign, Plan: other, Run: (&fake{}).run}); !errors.Is(err, sweep.ErrOtherPlan) {
		t.Errorf("a folder with other files: %v", err)
	}
}

func TestAllBadSettingsAreListedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	p := plan(t, 0, "", "10ms")
	p.Vary = append(p.Vary, sweep.Vary{Field: "proxies.count", Values: []string{"20", "-1"}}, sweep.Vary{Field: "mesh.servces", Values: []string{"3"}})
	f := &fake{}
	err := sweep.Run(t.Context(), sweep.Config{Dir: filepath.Join(t.TempDir(), "out"), Plan: p, Run: f.run})
	if err == nil || len(f.made) > 0 {
		t.Fatalf("%v, runs %v", err, f.made)
	}
	wantText(t, err.Error(), "--repeat: 0", "mesh.servces")
	p.Vary = p.Vary[:2]
	_, err = p.Settings()
	wantText(t, fmt.Sprint(err), "proxies.count: -1", "proxies.count=-1")
}

func TestFieldsAreCrossedAndRatesScaled(t *testing.T) {
	t.Parallel()
	vary, err := sweep.ParseVary([]string{"rate=1/s,10/s", "proxies.variant=sotw,delta", "rate=20/s"})
	if err != nil {
		t.Fatal(err)
	}
	p := plan(t, 2, "")
	p.Vary = vary
	settings, err := p.Settings()
	if err != nil || len(settings) != 6 {
		t.Fatalf("%d settings, %v", len(settings), err)
	}
	last := settings[5]
	var total float64
	for _, c := range last.Profile.Churn {
		total += float64(c.Rate)
	}
	if last.Name != "rate=20/s proxies.variant=delta" || last.Profile.Proxies.Variant != "delta" || total < 19.99 || total > 20.01 {
		t.Errorf("last setting: %s, variant %s, rate %v", last.Name, last.Profile.Proxies.Variant, total)
	}
	if strings.ContainsAny(last.ID, "/ ") {
		t.Errorf("ID %q", last.ID)
	}
	if p.Estimate(settings) <= 12*last.Profile.Phases.Steady.Duration {
		t.Errorf("estimate %s", p.Estimate(settings))
	}
}

func TestVaryReadsQuotedValuesAndNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	vary, err := sweep.ParseVary([]string{`target.exec="a,b","say ""x"""`, "seed=1", "seed=2,3"})
	want := []sweep.Vary{{Field: "target.exec", Values: []string{"a,b", `say "x"`}}, {Field: "seed", Values: []string{"1", "2", "3"}}}
	if diff := cmp.Diff(want, vary); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if again, err := sweep.ParseVary([]string{vary[0].String()}); err != nil || !slices.Equal(again[0].Values, vary[0].Values) {
		t.Errorf("read back: %v, %v", again, err)
	}
	_, err = sweep.ParseVary([]string{"seed", "=3", "seed=", `x="a`, "seed=1,1"})
	wantText(t, fmt.Sprint(err), `"seed": want`, `"=3": want`, `"seed=": want`, `x=\"a`, `"1" is given twice`)
	blanks, err := sweep.ParseVary([]string{"target.env.GOGC=50, 100 ,"})
	if err != nil || !slices.Equal(blanks[0].Values, []string{"50", "100", ""}) {
		t.Errorf("blanks: %v, %v", blanks, err)
	}
	if _, err := sweep.ParseVary([]string{"proxies.count=500,"}); err == nil || !strings.Contains(err.Error(), "value 2 is empty") {
		t.Errorf("an empty value: %v", err)
	}
	if _, err := sweep.ParseVary(nil); err == nil {
		t.Error("nothing to vary was accepted")
	}
}
