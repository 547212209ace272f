package capacity_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/experiment/capacity"
	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
	"github.com/xdsbench/xdsbench/result"
)

func TestSearchFindsTheCapacityWithinTheTolerance(t *testing.T) {
	t.Parallel()
	for grow, f := range map[string]*fake{
		"proxies=100..5000":  {Limit: 777, Load: byProxies},
		"rate=0.5/s..200/s":  {Limit: 33.3, Load: func(s sizing.Size) float64 { return s.Rate }},
		"services=10..4000":  {Limit: 1234, Load: func(s sizing.Size) float64 { return s.Services }},
		"endpoints=1..60":    {Limit: 9, Load: func(s sizing.Size) float64 { return s.Endpoints }},
		"mesh.services=1..3": {Limit: 2, Load: func(s sizing.Size) float64 { return s.Services }},
	} {
		t.Run(grow, func(t *testing.T) {
			t.Parallel()
			r, _ := search(t, f, plan(t, grow))
			a := r.Answer
			if a.Kind != "found" || a.Value > f.Limit || (f.Limit-a.Value)/f.Limit > 0.05 {
				t.Errorf("%+v, the truth is %g", a, f.Limit)
			}
			if !strings.Contains(a.Text, "propagation.all.p99 is 5s, limit 2s") {
				t.Errorf("no reason in %q", a.Text)
			}
		})
	}
}

func TestRepeatsAgreeAndShowTheSpread(t *testing.T) {
	t.Parallel()
	f := &fake{Limit: 777, Load: byProxies, Noise: 0.02}
	r, _ := search(t, f, plan(t, "proxies=100..5000", func(p *capacity.Plan) { p.Repeat = 3 }))
	if len(r.Outcome.Searches) != 3 || r.Answer.Low == nil || *r.Answer.Low != *r.Answer.High || *r.Answer.Low != r.Answer.Value {
		t.Errorf("%+v", r.Answer)
	}
	if got := text(t, r); !strings.Contains(got, "3 searches kept the SLO up to 775 to 775") {
		t.Errorf("text:\n%s", got)
	}
}

func TestSaturatedHarnessGivesALowerBound(t *testing.T) {
	t.Parallel()
	f := &fake{Limit: 700, HarnessLimit: 700, Load: byProxies}
	r, _ := search(t, f, plan(t, "proxies=100..5000"))
	a := r.Answer
	if a.Kind != "at least" || a.Value > 700 || a.Value < 0.95*700 {
		t.Errorf("%+v", a)
	}
	if !strings.Contains(a.Text, "the harness was saturated at ") || !strings.Contains(a.Text, "stamps were late") {
		t.Errorf("text %q", a.Text)
	}
	f = &fake{Limit: 50, HarnessLimit: 50, Load: byProxies}
	if r, _ = search(t, f, plan(t, "proxies=100..5000")); r.Answer.Kind != "unknown" {
		t.Errorf("saturated from the start: %+v", r.Answer)
	}
}

// TestOneSaturatedLoadDoesNotEndTheSearch: a load can saturate the harness by bad
// luck, so it is run again, and then a larger one is tried.
func TestOneSaturatedLoadDoesNotEndTheSearch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   map[float64]int
		says string
	}{
		"in one run of two":   {map[float64]int{400: 1}, "400 saturated the harness in one run and kept the SLO in another"},
		"in both runs":        {map[float64]int{400: 2}, "400 saturated the harness; the larger 800 kept the SLO"},
		"at the smallest":     {map[float64]int{100: 2}, "100 saturated the harness; the larger 200 kept the SLO"},
		"between two others":  {map[float64]int{1200: 2}, "1200 saturated the harness; the larger 1400 kept the SLO"},
		"at the only size up": {map[float64]int{1500: 2}, "1500 saturated the harness; the larger 1550 kept the SLO"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := search(t, &fake{Limit: 1560, SaturatedAt: c.at, Load: byProxies}, plan(t, "proxies=100..5000"))
			if a := r.Answer; a.Kind != "found" || a.Value > 1560 || a.Value < 0.95*1560 {
				t.Errorf("%+v", a)
			}
			if got := text(t, r); !strings.Contains(got, c.says) {
				t.Errorf("no %q in:\n%s", c.says, got)
			}
		})
	}
}

func TestHarnessThatIsSaturatedAboveTooGivesALowerBound(t *testing.T) {
	t.Parallel()
	r, _ := search(t, &fake{Limit: 1560, SaturatedAt: map[float64]int{400: 2, 800: 2}, Load: byProxies}, plan(t, "proxies=100..5000"))
	if a := r.Answer; a.Kind != "at least" || a.Value < 0.95*400 || a.Value >= 400 {
		t.Errorf("%+v", a)
	}
	if got := text(t, r); !strings.Contains(got, "400 saturated the harness; the larger 800 saturated the harness") {
		t.Errorf("text:\n%s", got)
	}
}

// TestAnSLOThatIsKeptIsKeptByASaturatedHarnessToo: the harness makes latencies longer,
// never shorter.
func TestAnSLOThatIsKeptIsKeptByASaturatedHarnessToo(t *testing.T) {
	t.Parallel()
	f := &fake{Limit: 3000, HarnessLimit: 700, Load: byProxies}
	r, _ := search(t, f, plan(t, "proxies=100..2000"))
	if a := r.Answer; a.Kind != "at least" || a.Value != 2000 {
		t.Errorf("%+v", a)
	}
	if got := text(t, r); !strings.Contains(got, "2000 kept the SLO although the harness was a bottleneck: stamps were late") {
		t.Errorf("no note in:\n%s", got)
	}
}

func TestRangeThatEndsFirstGivesABound(t *testing.T) {
	t.Parallel()
	r, _ := search(t, &fake{Limit: 1e6, Load: byProxies}, plan(t, "proxies=100..500"))
	if r.Answer.Kind != "at least" || r.Answer.Value != 500 || !strings.Contains(r.Answer.Text, "the end of the range") {
		t.Errorf("%+v", r.Answer)
	}
	r, _ = search(t, &fake{Limit: 50, Load: byProxies}, plan(t, "proxies=100..500"))
	if r.Answer.Kind != "below" || r.Answer.Value != 100 {
		t.Errorf("%+v", r.Answer)
	}
}

func TestRunsThatFailedMeasuredNothingOrHaveDefectsBreakThePoint(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]*fake{
		"the control plane was killed":     {FailAbove: 400},
		"1 of 413 proxies never got ready": {SpoilAbove: 400, Spoil: func(r *result.Result) { r.Proxies.Ready-- }},
		"none of 413 proxies got ready":    {SpoilAbove: 400, Spoil: func(r *result.Result) { r.Proxies.Ready = 0 }},
		"7 states that the mesh never had": {SpoilAbove: 400, Spoil: func(r *result.Result) { r.Propagation.UnknownStates = 7 }},
		"propagation.all.p99 is 5s":        {Limit: 400},
	} {
		f.Limit, f.Load = cmp.Or(f.Limit, 1e6), byProxies
		r, _ := search(t, f, plan(t, "proxies=100..5000"))
		if r.Answer.Kind != "found" || r.Answer.Value != 400 || !strings.Contains(r.Answer.Text, want) {
			t.Errorf("want %q: %+v", want, r.Answer)
		}
	}
}

func TestSmallestLoadThatCannotRunIsAnError(t *testing.T) {
	t.Parallel()
	f := &fake{Limit: 1e6, FailAbove: 1, Load: byProxies}
	_, err := capacity.Search(t.Context(), capacity.Config{Dir: filepath.Join(t.TempDir(), "out"), Plan: plan(t, "proxies=100..5000"), Run: f.run})
	if err == nil || !strings.Contains(err.Error(), "proxies.count=100, cannot be run") || f.runs != 2 {
		t.Errorf("after %d runs: %v", f.runs, err)
	}
}

func TestLoadThatFailsOnceIsNotBelieved(t *testing.T) {
	t.Parallel()
	r, _ := search(t, &fake{Limit: 777, Flaky: map[float64]int{200: 1}, Load: byProxies}, plan(t, "proxies=100..5000"))
	if r.Answer.Value < 0.95*777 || !strings.Contains(text(t, r), "200 broke the SLO in one run and kept the SLO in another: taken as kept") {
		t.Errorf("%+v\n%s", r.Answer, text(t, r))
	}
}

func TestSoakConfirmsOrLowers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		soakLimit, low, high float64
		kind, says           string
	}{
		{777, 739, 777, "found", "confirmed by a soak of 2m0s at 775"},
		{720, 600, 720, "found", "lowered by the soak"},
		{10, 0, 700, "below", "not confirmed"},
	} {
		r, _ := search(t, &fake{Limit: 777, SoakLimit: c.soakLimit, Load: byProxies}, plan(t, "proxies=100..5000", withSoak))
		if a := r.Answer; a.Kind != c.kind || a.Value < c.low || a.Value > c.high || !strings.Contains(a.Soak, c.says) {
			t.Errorf("soak up to %g: %+v", c.soakLimit, a)
		}
	}
}

func TestInterruptedSearchIsPartialAndGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	whole := &fake{Limit: 777, Load: byProxies}
	want, _ := search(t, whole, plan(t, "proxies=100..5000", withSoak))

	dir := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{Limit: 777, Load: byProxies, OnRun: func(n int) {
		if n == 4 {
			cancel()
		}
	}}
	p := plan(t, "proxies=100..5000", withSoak)
	part, err := capacity.Search(ctx, capacity.Config{Dir: dir, Plan: p, Run: f.run})
	if !errors.Is(err, context.Canceled) || part == nil {
		t.Fatalf("report %v, error %v", part, err)
	}
	if !part.Partial || part.Answer.Kind != "at least" || part.Answer.Value != 400 || !strings.HasPrefix(text(t, part), "PARTIAL") {
		t.Errorf("partial report: %+v", part)
	}

	again := &fake{Limit: 777, Load: byProxies}
	r, err := capacity.Search(t.Context(), capacity.Config{Dir: dir, Plan: p, Run: again.run})
	if err != nil {
		t.Fatal(err)
	}
	if again.runs != whole.runs-3 {
		t.Errorf("%d runs after 3 kept ones, %d in a search at one go", again.runs, whole.runs)
	}
	if r.Answer.Text != want.Answer.Text {
		t.Errorf("answer %q, at one go %q", r.Answer.Text, want.Answer.Text)
	}
}

func TestSearchInterruptedInItsFirstRunHasNoAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	dir, p := filepath.Join(t.TempDir(), "out"), plan(t, "proxies=100..5000")
	f := &fake{Limit: 777, Load: byProxies, OnRun: func(int) { cancel() }}
	r, err := capacity.Search(ctx, capacity.Config{Dir: dir, Plan: p, Run: f.run, Report: capacity.Options{Predict: []sizing.Size{{Proxies: 10}}}})
	if !errors.Is(err, context.Canceled) || r.Answer.Kind != "unknown" || !strings.Contains(text(t, r), "PARTIAL  quickstart: no load was measured to the end") {
		t.Errorf("error %v:\n%s", err, text(t, r))
	}
}

func TestFolderOfAnotherSearchIsRefused(t *testing.T) {
	t.Parallel()
	_, dir := search(t, &fake{Limit: 150, Load: byProxies}, plan(t, "proxies=100..200"))
	other := plan(t, "proxies=100..300", func(p *capacity.Plan) { p.Base.Seed = 9 })
	_, err := capacity.Search(t.Context(), capacity.Config{Dir: dir, Plan: other})
	if !errors.Is(err, capacity.ErrOtherPlan) || !strings.Contains(err.Error(), "grow.to: 200, not 300") || !strings.Contains(err.Error(), "profile.seed: 1, not 9") {
		t.Errorf("error %v", err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := capacity.Search(t.Context(), capacity.Config{Dir: full, Plan: other}); !errors.Is(err, capacity.ErrOtherPlan) {
		t.Errorf("folder with other files: %v", err)
	}
}

func TestGrowNamesEveryProblem(t *testing.T) {
	t.Parallel()
	base := plan(t, "proxies=1..2").Base
	parse := func(text string) (capacity.Range, error) {
		p := plan(t, "proxies=1..2")
		var err error
		if p.Grow, err = capacity.ParseGrow(text, base); err == nil {
			err = p.Validate()
		}
		return p.Grow, err
	}
	for text, want := range map[string]string{
		"proxies":                    "want FIELD=FROM..TO",
		"proxies=5":                  "want FIELD=FROM..TO",
		"proxies=500..100":           "FROM (500) is above TO (100)",
		"proxies=0..100":             "must be above 0",
		"proxies=1.5..100":           "takes whole numbers only",
		"proxies=a..b":               `"b" is not a rate`,
		"mesh.servces=1..2":          "unknown field",
		"proxies.variant=1..2":       "variant",
		"target.env.NAME=1..2":       "neither a whole number nor a rate",
		"phases.steady=1..2":         "phases.steady",
		"mesh.ports=1..100000":       "must be at most",
		"churn[0].rate=1/s..1e9/s":   "rate",
		"slo.propagation.all=1..2":   "neither",
		"proxies.nack.rate=0.1..0.2": "",
	} {
		_, err := parse(text)
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--grow")) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	for text, whole := range map[string]bool{"proxies=1..2": true, "rate=1..2": false, "churn[0].rate=1/s..90/m": false, "proxies.connectRate=10..20": false, "mesh.ports=1..3": true} {
		if g, err := parse(text); err != nil || g.Whole != whole {
			t.Errorf("%s: %+v, error %v", text, g, err)
		}
	}
}

func TestPlanAndSLONameEveryProblem(t *testing.T) {
	t.Parallel()
	p := plan(t, "proxies=1..2")
	p.Step, p.Tolerance, p.Repeat, p.Soak.Duration = 1, 0, 0, -1
	err := p.Validate()
	for _, want := range []string{"--step: 1:", "--tolerance: 0 %", "--repeat: 0", "--soak: -1ns"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if _, _, err := capacity.WithSLO(p.Base, []string{"x", "propagation.all.p99"}); err == nil || strings.Count(err.Error(), "--slo") != 2 {
		t.Errorf("error %v", err)
	}
	with, byDefault, err := capacity.WithSLO(p.Base, []string{"propagation.all.p50=1s"})
	if err != nil || byDefault || with.SLO["propagation.all.p50"] != "1s" || len(with.SLO) != 4 {
		t.Errorf("%v, %t, error %v", with, byDefault, err)
	}
}

func TestEveryStepIsKeptWithItsVerdict(t *testing.T) {
	t.Parallel()
	r, dir := search(t, &fake{Limit: 150, Load: byProxies}, plan(t, "proxies=100..400"))
	steps := r.Outcome.Searches[0].Steps
	if len(steps) < 5 || steps[0].Verdict != "kept" || steps[1].Verdict != "broken" || steps[1].Value != steps[2].Value {
		t.Errorf("%+v", steps)
	}
	for _, s := range steps {
		if _, err := result.Load(filepath.Join(dir, s.Run)); err != nil {
			t.Error(err)
		}
	}
	if steps[len(steps)-1].Stage != "bisect" {
		t.Error("no bisection")
	}
}
