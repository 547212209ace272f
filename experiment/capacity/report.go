package capacity

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
)

// ReportSchema names the layout of a report file.
const ReportSchema = "xdsbench/capacity-report/v1"

// Report is what a search, or saved runs alone, say.
type Report struct {
	Schema string `json:"schema"`
	// Partial says that the search was cut short.
	Partial bool `json:"partial"`
	// Plan, Answer and Outcome are of the search; nil without one.
	Plan    *Plan    `json:"plan,omitempty"`
	Answer  *Answer  `json:"answer,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
	// Points are the runs that the model is made from.
	Points  []sizing.Point `json:"points"`
	Model   *sizing.Model  `json:"model"`
	HoldOut *HoldOut       `json:"holdOut,omitempty"`
	// Limits are of one replica.
	Limits Limits `json:"limits"`
	// Sizes is the sizing table, Predictions what was asked for.
	Sizes       []sizing.Prediction `json:"sizes,omitempty"`
	Predictions []sizing.Prediction `json:"predictions,omitempty"`
	Assumptions []string            `json:"assumptions"`
	// Environment is that of the last run.
	Environment *result.Environment `json:"environment,omitempty"`
	// Commands repeat the search and the report.
	Commands []string `json:"commands,omitempty"`
}

// Limits are what one replica may use, and where each limit comes from.
type Limits struct {
	sizing.Limits
	CPUFrom    string `json:"cpuFrom,omitempty"`
	MemoryFrom string `json:"memoryFrom,omitempty"`
	KneeFrom   string `json:"kneeFrom,omitempty"`
}

// Options say what a report is to hold beside the search.
type Options struct {
	// From are folders with more runs.
	From []string
	// Predict and Sizes are to be predicted.
	Predict, Sizes []Want
	// ReplicaCPU in cores and ReplicaMemory in bytes limit one replica; zero means
	// the measured machine's.
	ReplicaCPU, ReplicaMemory float64
	// Commands repeat what was done.
	Commands []string
}

// Make draws up the report of the search in dir (empty for none) and of the runs
// in other folders. Finished is false if the search was cut short. outcome and
// plan are nil without a search.
func Make(dir string, plan *Plan, outcome *Outcome, finished bool, o Options) (*Report, error) {
	r := &Report{Schema: ReportSchema, Partial: !finished, Plan: plan, Outcome: outcome, Commands: o.Commands}
	if err := r.load(dir, o.From); err != nil {
		return nil, err
	}
	r.Model = sizing.NewModel(r.Points)
	if plan != nil && outcome != nil {
		a := answer(plan, outcome, finished)
		r.Answer = &a
	} else {
		r.adopt(o.From)
	}
	field, full := "", 0.0
	if r.Answer != nil {
		field = r.Plan.Grow.Field
		if r.Answer.Kind == Exactly || r.Answer.Kind == AtLeast {
			full = r.Answer.Value
		}
	}
	r.HoldOut = holdOut(r.Points, field, full)
	r.limit(o)
	base := r.base()
	for _, w := range o.Sizes {
		r.Sizes = append(r.Sizes, r.predict(w.over(base)))
	}
	for _, w := range o.Predict {
		r.Predictions = append(r.Predictions, r.predict(w.over(base)))
	}
	r.Assumptions = assumptions()
	return r, nil
}

// adopt takes over the answer of the first folder that has one.
func (r *Report) adopt(folders []string) {
	for _, dir := range folders {
		saved, err := Load(dir)
		if err == nil && saved.Answer != nil {
			r.Plan, r.Answer, r.Outcome, r.Partial = saved.Plan, saved.Answer, saved.Outcome, saved.Partial
			return
		}
	}
}

// load reads the runs of the search and of other folders.
func (r *Report) load(dir string, from []string) error {
	var folders []string
	if dir != "" {
		folders = append(folders, filepath.Join(dir, runsDir))
	}
	points, err := sizing.Load(append(folders, from...)...)
	if errors.Is(err, result.ErrNoResult) && len(from) == 0 {
		err = nil // a search that was cut short in its first run
	}
	r.Points = points
	if len(points) > 0 {
		r.Environment = points[0].Environment // the search's own come first
	}
	for i := range r.Points {
		if dir != "" {
			r.Points[i].Run = strings.TrimPrefix(r.Points[i].Run, filepath.Clean(dir)+string(filepath.Separator))
		}
		r.Points[i].Environment = nil
	}
	return err
}

// base is the size that predictions start from: the answer's, or else the largest
// measured.
func (r *Report) base() sizing.Size {
	if r.Plan != nil {
		p := r.Plan.Base
		if r.Answer != nil && r.Answer.Value > 0 {
			if at, err := p.With(r.Plan.Grow.setting(r.Answer.Value)); err == nil {
				p = at
			}
		}
		return sizing.SizeOf(p)
	}
	var largest sizing.Size
	for _, p := range r.Points {
		if p.Proxies >= largest.Proxies {
			largest = p.Size
		}
	}
	return largest
}

// limit fills in what one replica may use.
func (r *Report) limit(o Options) {
	l := &r.Limits
	l.CPU, l.CPUFrom = o.ReplicaCPU, "--replica-cpu"
	l.Memory, l.MemoryFrom = o.ReplicaMemory, "--replica-memory"
	if e := r.Environment; e != nil && len(r.Points) > 0 && r.Points[0].CPUs > 0 {
		if l.CPU == 0 {
			l.CPU, l.CPUFrom = float64(e.CPUs), "all CPUs of the measured machine"
		}
		if l.Memory == 0 {
			l.Memory, l.MemoryFrom = float64(e.Memory), "all memory of the measured machine"
		}
	}
	if r.Plan == nil || r.Answer == nil {
		return
	}
	l.P99 = limitOf(r.Plan.Base.SLO[p99])
	if r.Answer.Kind != Exactly && r.Answer.Kind != AtLeast {
		return
	}
	if at, err := r.Plan.Base.With(r.Plan.Grow.setting(r.Answer.Value)); err == nil {
		l.PushRate = r.Model.At(sizing.SizeOf(at)).PushRate
		l.KneeFrom = "as at " + r.Plan.Grow.setting(r.Answer.Value) + ", the knee"
		if r.Answer.Kind == AtLeast {
			l.KneeFrom = "as at " + r.Plan.Grow.setting(r.Answer.Value) + ", the largest load measured; the knee lies above"
		}
	}
}

// limitOf returns the seconds of an upper limit of the p99; zero if there is none.
func limitOf(limit string) float64 {
	bound, lower, err := metric.ParseLimit(p99, limit)
	if err != nil || lower {
		return 0
	}
	return bound
}

func (r *Report) predict(s sizing.Size) sizing.Prediction {
	p := r.Model.At(s)
	if !slices.ContainsFunc(r.Points, func(x sizing.Point) bool { return x.Replicas > 1 }) {
		p.Replicas = r.Model.Replicas(s, r.Limits.Limits) // sums over replicas do not say what one needs
	}
	return p
}

// assumptions are what every prediction rests on.
func assumptions() []string {
	return []string{
		"pushes/s = mutations/s × proxies × pushes per mutation and proxy, as measured at the nearest rates of mutations (interpolated between two; beyond them, the nearest's)",
		"the size of a push and the configuration of a proxy are linear in services and endpoints, as far as those varied in the runs",
		"CPU is the mean of steady load; connecting, start and garbage collection peaks need room beside it",
		"replicas share the proxies evenly, and each holds all services and sees all mutations",
		"intervals are 95 % for one more run on the same machine, with independent errors of equal size (of the latency: in proportion to it); they hold only where nothing is extrapolated",
		"the control plane had the machine to share with the harness, the in-memory API server included",
	}
}

// Is reports whether a folder holds a search, or a report of saved runs.
func Is(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, planFile)); err == nil {
		return true
	}
	_, err := Load(dir)
	return err == nil
}

// Load reads a saved report, fits included.
func Load(dir string) (*Report, error) {
	path := filepath.Join(dir, reportFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("no report of the search in %s yet: run its command again to go on: %w", dir, err)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	if r.Schema != ReportSchema {
		return nil, fmt.Errorf("loading %s: its schema is %q, this version reads %q: use the version of xdsbench that wrote it", path, cmp.Or(r.Schema, "(none)"), ReportSchema)
	}
	r.Model = sizing.NewModel(r.Points)
	return &r, nil
}
