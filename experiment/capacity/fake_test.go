package capacity_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/experiment/capacity"
	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
	"github.com/xdsbench/xdsbench/result/observed"
)

// fake is a control plane with known costs and a known capacity. Its p99 jumps
// over the SLO of 2 s beyond Limit.
type fake struct {
	// Limit is the largest load that keeps the SLO, SoakLimit that of runs longer
	// than a minute, HarnessLimit what the harness can measure; zero for none.
	Limit, SoakLimit, HarnessLimit float64
	// Load is what the limits count.
	Load func(sizing.Size) float64
	// Flaky is in how many of its first runs a load fails; SaturatedAt, in how many it
	// saturates the harness and misses the SLO.
	Flaky, SaturatedAt map[float64]int
	// FailAbove fails runs without a result, SpoilAbove spoils their results.
	FailAbove, SpoilAbove float64
	Spoil                 func(*result.Result)
	// Noise is the relative error of costs.
	Noise float64
	// OnRun is called before each run, with its number from 1.
	OnRun func(int)

	runs int
	seen map[float64]int
}

func (f *fake) run(ctx context.Context, p *profiles.Profile, dir string, progress func(harness.Status)) (*result.Result, error) {
	f.runs++
	if f.OnRun != nil {
		f.OnRun(f.runs)
	}
	if progress != nil {
		progress(harness.Status{Phase: harness.PhaseSteady})
	}
	size := sizing.SizeOf(p)
	load := f.Load(size)
	if f.seen == nil {
		f.seen = make(map[float64]int)
	}
	f.seen[load]++
	r := f.result(p, size)
	err := ctx.Err()
	if err != nil {
		r.Partial = true
		return r, r.Save(dir)
	}
	if f.FailAbove > 0 && load > f.FailAbove {
		return nil, errors.New("the control plane was killed")
	}
	if f.Spoil != nil && load > f.SpoilAbove {
		f.Spoil(r)
	}
	limit := f.Limit
	if f.SoakLimit > 0 && p.Phases.Steady.Duration > time.Minute {
		limit = f.SoakLimit
	}
	saturated := f.seen[load] <= f.SaturatedAt[load]
	if load > limit || saturated || f.seen[load] <= f.Flaky[load] {
		r.Propagation.All.P99 = 5
	}
	if saturated || f.HarnessLimit > 0 && load > f.HarnessLimit {
		r.Harness.Saturated, r.Harness.Reasons = true, []string{"stamps were late"}
	}
	if r.SLO, err = metric.Evaluate(r, p.SLO); err != nil {
		return nil, err
	}
	return r, r.Save(dir)
}

func (f *fake) result(p *profiles.Profile, s sizing.Size) *result.Result {
	rng := rand.New(rand.NewPCG(uint64(f.runs), 1))
	off := func(x float64) float64 { return x * (1 + f.Noise*rng.NormFloat64()) }
	profile, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	steady := p.Phases.Steady.Seconds()
	responses := s.Rate * steady * s.Proxies
	r := &result.Result{
		Schema: result.Schema, Profile: profile,
		Environment: &result.Environment{CPUs: 2, CPUModel: "a model", Memory: 8e9, Target: "synthetic"},
		Proxies:     &result.Proxies{Requested: p.Proxies.Count, Connected: p.Proxies.Count, Ready: p.Proxies.Count},
		Sync:        &result.Sync{ConfigBytesPerProxy: &result.Distribution{Mean: 1e3 * s.Services}},
		Mutations:   &result.Mutations{Applied: int(s.Rate * steady)},
		Propagation: &result.Propagation{Deliveries: 1, All: &result.Distribution{Count: 1000, P99: off(0.1 + 1e-4*s.Proxies)}},
		Volume:      &result.Volume{ByType: map[string]result.Traffic{"eds": {Responses: int64(responses), Bytes: int64(500 * responses)}}},
		Convergence: &result.Convergence{},
		Harness:     &result.Harness{WallSeconds: new(steady + 3)},
	}
	cores := off(0.05 + 1e-4*responses/steady)
	r.ControlPlane = &observed.ControlPlane{
		CPUSeconds: new(cores*steady + 0.5 + 1e-3*s.Proxies), PeakRSSBytes: new(int64(off(50e6 + 1e5*s.Proxies))),
		Steady: &observed.Cost{WallSeconds: steady, CPUSeconds: cores * steady, Cores: cores},
	}
	return r
}

func byProxies(s sizing.Size) float64 { return s.Proxies }

// plan is a search of quickstart with the default SLO and no soak.
func plan(t *testing.T, grow string, change ...func(*capacity.Plan)) *capacity.Plan {
	t.Helper()
	p, err := profiles.Load("quickstart", nil)
	if err != nil {
		t.Fatal(err)
	}
	base, byDefault, err := capacity.WithSLO(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := capacity.ParseGrow(grow, base)
	if err != nil {
		t.Fatal(err)
	}
	out := &capacity.Plan{Base: base, Grow: g, Step: 2, Tolerance: 0.05, Repeat: 1, DefaultSLO: byDefault}
	for _, c := range change {
		c(out)
	}
	if err := out.Validate(); err != nil {
		t.Fatal(err)
	}
	return out
}

func withSoak(p *capacity.Plan) { p.Soak = metav1.Duration{Duration: 2 * time.Minute} }

// search carries out a plan in a new folder and returns its report.
func search(t *testing.T, f *fake, p *capacity.Plan, o ...capacity.Options) (*capacity.Report, string) {
	t.Helper()
	cfg := capacity.Config{Dir: filepath.Join(t.TempDir(), "out"), Plan: p, Run: f.run, Progress: func(string, harness.Status) {}}
	for _, cfg.Report = range o {
	}
	r, err := capacity.Search(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r, cfg.Dir
}

func text(t *testing.T, r *capacity.Report) string {
	t.Helper()
	var out strings.Builder
	if err := r.Document("").Text(&out, doc.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func markdown(t *testing.T, r *capacity.Report) string {
	t.Helper()
	var out strings.Builder
	if err := r.Document("").Markdown(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
