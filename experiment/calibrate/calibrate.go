package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/controlplane/faults"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
)

// Schema names the layout of a calibration in JSON.
const Schema = "xdsbench/calibration/v1"

// LeastProxies is the smallest fleet that Run accepts: with fewer, shares
// of the fleet may choose nobody.
const LeastProxies = 20

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

// Report is what was injected against what was measured.
type Report struct {
	Schema      string              `json:"schema"`
	Pass        bool                `json:"pass"`
	Proxies     int                 `json:"proxies"`
	Lines       []Line              `json:"lines"`
	Environment *result.Environment `json:"environment,omitempty"`
	// Warnings are reasons to doubt a line: a busy machine, for the most part.
	Warnings []string `json:"warnings,omitempty"`
}

// Line compares one number. Times are seconds.
type Line struct {
	// Fault is what was injected, Figure which number of the result shows it.
	Fault  string `json:"fault"`
	Figure string `json:"figure"`
	// Unit is "s" for times and empty for counts.
	Unit     string  `json:"unit,omitempty"`
	Injected float64 `json:"injected"`
	Measured float64 `json:"measured"`
	// Tolerance is how far Measured may lie from Injected; counts must be equal.
	Tolerance float64 `json:"tolerance"`
	Pass      bool    `json:"pass"`
	// Problem says what is wrong where the numbers alone do not.
	Problem string `json:"problem,omitempty"`
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

// Run runs the harness against known faults. The error says that a run
// failed; whether it measures right is in the Report.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if cfg.Proxies < LeastProxies {
		return nil, fmt.Errorf("%w: proxies: %d: calibrating needs %d at least", harness.ErrInvalid, cfg.Proxies, LeastProxies)
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	cfg.Dir = dir
	c := &Report{Schema: Schema, Proxies: cfg.Proxies, Pass: true}
	scenarios := scenarios(cfg)
	var baseline *outcome
	for i := range scenarios {
		s := &scenarios[i]
		o, err := s.run(ctx, cfg, func(status harness.Status) {
			if cfg.Progress != nil {
				cfg.Progress(i+1, len(scenarios), status)
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
			c.Environment = o.result.Environment
		}
		c.Lines = append(c.Lines, s.check(s, baseline, o)...)
		c.Warnings = append(c.Warnings, doubts(s.name, o)...)
	}
	for _, line := range c.Lines {
		c.Pass = c.Pass && line.Pass
	}
	return c, nil
}

// doubts lists what makes a run's figures doubtful.
func doubts(name string, o *outcome) []string {
	r := o.result
	var out []string
	if r.Harness != nil && r.Harness.Saturated {
		out = append(out, fmt.Sprintf("run %q: the harness was the bottleneck: %s", name, strings.Join(r.Harness.Reasons, "; ")))
	}
	if pushes := len(o.record.Delays); pushes > 0 && int64(pushes) != r.Propagation.Deliveries {
		out = append(out, fmt.Sprintf("run %q: the control plane merged changes (%d pushes for %d deliveries), for the machine was busy: its delays compare badly",
			name, pushes, r.Propagation.Deliveries))
	}
	for _, problem := range r.Errors {
		out = append(out, fmt.Sprintf("run %q: %s", name, problem))
	}
	return out
}

// The load of a calibration: enough deliveries for a p99, at a pace that leaves
// a small machine idle for most of the time.
const (
	calibrateServices = 50
	calibrateRate     = 5
	fullSteady        = 4 * time.Second
	quickSteady       = 2 * time.Second
	delayDrain        = 10 * time.Second
	// faultDrain ends on its limit, since some pairs are never reached.
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
