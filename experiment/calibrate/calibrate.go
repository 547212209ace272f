package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/controlplane/faults"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// schema names the layout of a calibration in JSON.
const schema = "xdsbench/calibration/v1"

// minProxies is the smallest fleet that Run accepts: in a smaller one, a share of the
// fleet may be nobody.
const minProxies = 20

// Config says how to calibrate.
type Config struct {
	// Proxies is the size of the fleet.
	Proxies int
	// Quick leaves out some delays and shortens the runs, to a third of the time.
	Quick bool
	// Dir is where the runs put their results, each in a folder of its own.
	Dir string
	// Environ, Self and Version are as in harness.Config.
	Environ []string
	Self    string
	Version string
	// Progress, if set, is called several times a second with the run under way,
	// counted from 1, the number of runs and what the run is doing.
	Progress func(run, runs int, s harness.Status)
}

// scenario is one run of a calibration.
type scenario struct {
	name  string
	env   map[string]string
	drain time.Duration
	// check compares the run with what was injected; baseline is the first run.
	check func(s *scenario, baseline, run *outcome) []Line
}

// outcome is what a run reports, and what was injected.
type outcome struct {
	result *result.Result
	record faults.Record
}

// Run runs the harness against known faults. The error says that a run failed;
// whether the harness measures correctly is in the Report.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if cfg.Proxies < minProxies {
		return nil, fmt.Errorf("%w: proxies: %d: calibrating needs at least %d", harness.ErrInvalid, cfg.Proxies, minProxies)
	}
	var err error
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err == nil {
		err = os.MkdirAll(cfg.Dir, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	r := &Report{Schema: schema, Proxies: cfg.Proxies, Pass: true}
	list := scenarios(cfg)
	var baseline *outcome
	for i := range list {
		s := &list[i]
		o, err := s.run(ctx, cfg, func(status harness.Status) {
			if cfg.Progress != nil {
				cfg.Progress(i+1, len(list), status)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("calibrate: run %q: %w", s.name, err)
		}
		if s.check == nil {
			continue
		}
		if baseline == nil {
			baseline = o
			r.Environment = o.result.Environment
		}
		r.add(s.check(s, baseline, o)...)
		r.Warnings = append(r.Warnings, o.warnings(s.name)...)
	}
	return r, nil
}

// warnings say what makes a run's figures questionable.
func (o *outcome) warnings(name string) []string {
	r := o.result
	var all []string
	warn := func(format string, args ...any) {
		all = append(all, fmt.Sprintf("run %q: "+format, append([]any{name}, args...)...))
	}
	for _, f := range verdict.Findings(r) {
		if f.Verdict == verdict.Saturated { // the defects are those injected
			warn("the harness was the bottleneck: %s", f.Reason)
		}
	}
	if pushes := len(o.record.Delays); pushes > 0 && int64(pushes) != r.Propagation.Deliveries {
		warn("the control plane merged changes because the machine was busy (%d pushes for %d deliveries): its delays cannot be compared well",
			pushes, r.Propagation.Deliveries)
	}
	for _, problem := range r.Errors {
		warn("%s", problem)
	}
	return all
}

// The load of a calibration: enough deliveries for a p99, at a pace that leaves
// a small machine idle for most of the time.
const (
	calibrateServices = 50
	calibrateRate     = 5
	fullSteady        = 4 * time.Second
	quickSteady       = 2 * time.Second
	delayDrain        = 10 * time.Second
	// faultDrain always runs to its end, since some pairs are never delivered.
	faultDrain = 2 * time.Second
)

func (s *scenario) profile(cfg Config, faultFile string) *profiles.Profile {
	p := profiles.Default()
	p.Name = "calibrate-" + s.name
	p.Mesh = mesh.DefaultSpec()
	p.Mesh.Namespaces, p.Mesh.Services = 2, calibrateServices
	p.Proxies.Count, p.Proxies.Variant, p.Proxies.ConnectRate = cfg.Proxies, fakeproxy.VariantMixed, 500
	p.Churn = []churn.Spec{{Kind: churn.PodAdd, Rate: calibrateRate}}
	steady := fullSteady
	if cfg.Quick {
		steady = quickSteady
	}
	p.Phases = profiles.Phases{Steady: metav1.Duration{Duration: steady}, Drain: metav1.Duration{Duration: s.drain}}
	p.Target.Env = map[string]string{
		"PILOT_DEBOUNCE_AFTER": "0s",
		faults.EnvFile:         faultFile,
	}
	maps.Copy(p.Target.Env, s.env)
	return &p
}

// run makes the run and reads the control plane's record of it.
func (s *scenario) run(ctx context.Context, cfg Config, progress func(harness.Status)) (*outcome, error) {
	dir := filepath.Join(cfg.Dir, s.name)
	file := dir + "-faults.json"
	res, err := harness.Run(ctx, harness.Config{
		Profile: s.profile(cfg, file), Dir: dir,
		Environ: cfg.Environ, Self: cfg.Self, Version: cfg.Version, Progress: progress,
	})
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	o := &outcome{result: res}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the control plane left no record of its faults: %w", err)
	}
	if err := json.Unmarshal(data, &o.record); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if res.Propagation == nil || res.Propagation.All == nil {
		return nil, errors.New("nothing was delivered")
	}
	return o, nil
}
