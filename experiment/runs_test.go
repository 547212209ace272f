package experiment_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
)

// fake counts the runs that it is asked for, and saves a result for each.
type fake struct {
	runs    int
	partial bool
	err     error
}

func (f *fake) run(_ context.Context, p *profiles.Profile, dir string, _ func(harness.Status)) (*result.Result, error) {
	f.runs++
	profile, err := json.Marshal(p)
	r := &result.Result{Schema: result.Schema, Partial: f.partial, Profile: profile}
	return r, errors.Join(err, r.Save(dir), f.err)
}

func TestFinishedRunOfTheSameProfileIsKept(t *testing.T) {
	t.Parallel()
	f := &fake{}
	runs := &experiment.Runs{Dir: t.TempDir(), Run: f.run}
	p := profile(t, "target.clusterName=<{service}>") // < and > have two forms in JSON
	for i, want := range []bool{false, true} {
		r, kept, err := runs.Do(t.Context(), "a/1", p, nil)
		if err != nil || kept != want || r == nil {
			t.Errorf("call %d: result %v, kept %v, %v", i, r, kept, err)
		}
	}
	if f.runs != 1 {
		t.Errorf("%d runs, want 1", f.runs)
	}
	if _, kept, err := runs.Do(t.Context(), "a/1", profile(t, "seed=9"), nil); err != nil || kept || f.runs != 2 {
		t.Errorf("another profile: kept %v, runs %d, %v", kept, f.runs, err)
	}
}

func TestFailedOrPartialRunIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*fake{"failed": {err: errors.New("boom")}, "partial": {partial: true}} {
		runs := &experiment.Runs{Dir: t.TempDir(), Run: f.run}
		p := profile(t)
		if _, _, err := runs.Do(t.Context(), "x", p, nil); err == nil || !strings.Contains(err.Error(), "run x") {
			t.Errorf("%s: error %v", name, err)
		}
		f.err, f.partial = nil, false
		if _, kept, err := runs.Do(t.Context(), "x", p, nil); err != nil || kept || f.runs != 2 {
			t.Errorf("%s: then kept %v, runs %d, %v", name, kept, f.runs, err)
		}
	}
}

func TestNothingIsStartedAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	f := &fake{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	runs := &experiment.Runs{Dir: t.TempDir(), Run: f.run}
	if _, _, err := runs.Do(ctx, "x", profile(t), nil); !errors.Is(err, context.Canceled) || f.runs != 0 {
		t.Errorf("%d runs, %v", f.runs, err)
	}
}

func TestQuestionableRunsHaveEveryReasonNamedAndValidOnesNone(t *testing.T) {
	t.Parallel()
	valid := &result.Result{
		Propagation: &result.Propagation{Deliveries: 3}, Convergence: &result.Convergence{}, Harness: &result.Harness{},
	}
	if d := experiment.Questionable(valid); len(d) != 0 {
		t.Errorf("a valid run: %q", d)
	}
	if d := experiment.Questionable(&result.Result{}); !slices.Equal(d, []string{"nothing was delivered"}) {
		t.Errorf("a run without churn: %q", d)
	}
	bad := &result.Result{
		Partial:     true,
		SLO:         []result.SLO{{Metric: "propagation.all.p99", Limit: "1s"}},
		Errors:      []string{"sums differ"},
		Propagation: &result.Propagation{Expected: 9, Undelivered: 4, UnknownStates: 5},
		Convergence: &result.Convergence{Diverged: 6},
		Harness:     &result.Harness{Saturated: true, Reasons: []string{"lag"}},
	}
	all := strings.Join(experiment.Questionable(bad), "\n")
	if strings.Contains(all, "SLO MISSED") {
		t.Errorf("a missed SLO is a conclusion:\n%s", all)
	}
	for _, want := range []string{"PARTIAL: ", "sums differ", "DEFECTS: 4 of 9 pairs", "5 states", "6 proxies", "SATURATED: lag"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in:\n%s", want, all)
		}
	}
}

func TestNotesOfSeveralRunsBecomeOne(t *testing.T) {
	t.Parallel()
	for want, notes := range map[string][]string{
		"": {"", ""}, "max of 60": {"max of 60", "", "max of 60"}, "max of 9 to 62": {"max of 62", "max of 9", "max of 58"},
	} {
		if got := experiment.Note(notes); got != want {
			t.Errorf("%q: %q, want %q", notes, got, want)
		}
	}
}

func profile(t *testing.T, settings ...string) *profiles.Profile {
	t.Helper()
	p, err := profiles.Load("smoke", settings)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
