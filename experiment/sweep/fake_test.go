package sweep_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/xdsbench/xdsbench/experiment/sweep"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
	"github.com/xdsbench/xdsbench/result/observed"
)

// outcome is what the fake answers for one setting: a figure per repeat, the last
// one for all further repeats.
type outcome struct {
	p99, cpu  []float64
	saturated bool
	spoil     func(*result.Result)
	err       error
	pprof     bool
}

// fake stands in for the harness. Outcomes are by the debounce time that the
// profile sets.
type fake struct {
	outcomes map[string]outcome
	// made lists the folders of the runs, in order.
	made []string
	// stopAt cancels the sweep within the run of this number, counted from 1.
	stopAt int
	cancel context.CancelFunc
}

func (f *fake) run(ctx context.Context, p *profiles.Profile, dir string, progress func(harness.Status)) (*result.Result, error) {
	f.made = append(f.made, filepath.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir)))
	if progress != nil {
		progress(harness.Status{Phase: harness.PhaseSteady})
	}
	o := f.outcomes[p.Target.Env[debounce]]
	if o.err != nil {
		return nil, o.err
	}
	repeat := int(filepath.Base(dir)[0] - '1')
	r := sampleResult(pick(o.p99, repeat), pick(o.cpu, repeat))
	profile, err := json.Marshal(p)
	r.Profile = profile
	if r.Harness.Saturated = o.saturated; o.saturated {
		r.Harness.Reasons = []string{"messages waited"}
	}
	if o.spoil != nil {
		o.spoil(r)
	}
	slo, sloErr := metric.Evaluate(r, p.SLO)
	r.SLO = slo
	if len(f.made) == f.stopAt {
		f.cancel()
		r.Partial = true
	}
	err = errors.Join(err, sloErr, r.Save(dir))
	if o.pprof {
		r.ControlPlane.Profiles = []observed.ProfileSummary{{
			Kind: "cpu", File: "pprof/cpu.pb.gz", Seconds: 2, Sample: "cpu", Unit: "nanoseconds", Total: int64(1e9 * pick(o.cpu, repeat)),
			Parts: map[string]float64{"eds": 0.75, "gc": 0.25},
		}}
		err = errors.Join(err, r.Save(dir), writeProfile(filepath.Join(dir, "pprof"), int64(1e9*pick(o.cpu, repeat))))
	}
	return r, err
}

func pick(values []float64, i int) float64 { return values[min(i, len(values)-1)] }

// sampleResult is a valid one with these figures.
func sampleResult(p99, cpu float64) *result.Result {
	wall, rss := 5.0, int64(100e6)
	d := &result.Distribution{Count: 1000, P50: p99 / 2, P99: p99}
	return &result.Result{
		Schema:      result.Schema,
		Environment: &result.Environment{CPUModel: "Imaginary", CPUs: 2, Versions: map[string]string{"xdsbench": "v0"}},
		Propagation: &result.Propagation{All: d, LastProxy: d, Deliveries: 10},
		Mutations:   &result.Mutations{Applied: 10},
		Proxies:     &result.Proxies{Requested: 20, Ready: 20},
		Volume:      &result.Volume{ByType: map[string]result.Traffic{"eds": {Bytes: 1000}, "cds": {Bytes: 500}}},
		Acks:        &result.Acks{NacksInjected: 1},
		Harness:     &result.Harness{WallSeconds: &wall},
		ControlPlane: &observed.ControlPlane{
			Steady: &observed.Cost{CPUSeconds: cpu}, PeakRSSBytes: &rss,
			Work:   &observed.Work{Pushes: new(int64(100)), DebounceRounds: new(int64(4))},
			Stages: &observed.Stages{Debounce: &observed.Stage{Mean: 0.02}, MutationsPerPush: 2.5},
		},
	}
}

func writeProfile(dir string, nanoseconds int64) error {
	f := &profile.Function{ID: 1, Name: "main.work"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period: 1, Function: []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{nanoseconds}}},
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(dir, "cpu.pb.gz"))
	if err != nil {
		return err
	}
	return errors.Join(p.Write(out), out.Close())
}

const debounce = "PILOT_DEBOUNCE_AFTER"

// plan sweeps the debounce over the values.
func plan(t *testing.T, repeat int, slo string, values ...string) *sweep.Plan {
	t.Helper()
	var settings []string
	if slo != "" {
		settings = []string{"slo.propagation.all.p99=" + slo}
	}
	base, err := profiles.Load("smoke", settings)
	if err != nil {
		t.Fatal(err)
	}
	return &sweep.Plan{
		Base: base, Repeat: repeat,
		Vary: []sweep.Vary{{Field: "target.env." + debounce, Values: values}},
	}
}

// swept runs the plan to its end and returns the report.
func swept(t *testing.T, p *sweep.Plan, outcomes map[string]outcome) (r *sweep.Report, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "out")
	if err := sweep.Run(t.Context(), sweep.Config{Dir: dir, Plan: p, Run: (&fake{outcomes: outcomes}).run}); err != nil {
		t.Fatal(err)
	}
	return report(t, dir), dir
}

func report(t *testing.T, dir string) *sweep.Report {
	t.Helper()
	r, err := sweep.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func text(t *testing.T, r *sweep.Report) string {
	t.Helper()
	var out strings.Builder
	if err := r.Document("DIR").Text(&out, doc.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func wantText(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}
