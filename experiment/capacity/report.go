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
	"github.com/xdsbench/xdsbench/internal/file"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
)

// reportSchema names the layout of a report file.
const reportSchema = "xdsbench/capacity-report/v1"

// Report is what a search, or saved runs alone, show.
type Report struct {
	Schema string `json:"schema"`
	// Partial says that the search was interrupted.
	Partial bool `json:"partial"`
	// Plan, Answer and Outcome are of the search; nil without one.
	Plan    *Plan    `json:"plan,omitempty"`
	Answer  *answer  `json:"answer,omitempty"`
	Outcome *outcome `json:"outcome,omitempty"`
	// Points are the runs that the model is made from.
	Points  []sizing.Point `json:"points"`
	Model   *sizing.Model  `json:"model"`
	HoldOut *holdOut       `json:"holdOut,omitempty"`
	// Limits are of one replica.
	Limits limits `json:"limits"`
	// Sizes is the sizing table, Predictions what was asked for.
	Sizes       []sizing.Prediction `json:"sizes,omitempty"`
	Predictions []sizing.Prediction `json:"predictions,omitempty"`
	Assumptions []string            `json:"assumptions"`
	// Environment is that of the last run.
	Environment *result.Environment `json:"environment,omitempty"`
	// Commands repeat the search and the report.
	Commands []string `json:"commands,omitempty"`
}

// limits are what one replica may use, and where each limit comes from.
type limits struct {
	sizing.Limits
	CPUFrom    string `json:"cpuFrom,omitempty"`
	MemoryFrom string `json:"memoryFrom,omitempty"`
	KneeFrom   string `json:"kneeFrom,omitempty"`
}

// Options say what a report is to hold beside the search.
type Options struct {
	// From are folders with more runs.
	From []string
	// Predict and Sizes are to be predicted. What is zero is as in the search's runs.
	Predict, Sizes []sizing.Size
	// ReplicaCPU in cores and ReplicaMemory in bytes limit one replica; zero means
	// the measured machine's.
	ReplicaCPU, ReplicaMemory float64
	// Commands repeat what was done.
	Commands []string
}

// FromRuns makes the report of saved runs alone, with the answer of the first
// folder that has one, and saves it in dir, a new folder; with an empty dir it is
// not saved.
func FromRuns(dir string, o Options) (*Report, error) {
	r, err := newReport("", nil, nil, true, o)
	if err != nil || dir == "" {
		return r, err
	}
	if err := newFolder(dir); err != nil {
		return nil, err
	}
	return r, r.save(dir)
}

// newReport makes the report of the search in dir (empty for none) and of the runs
// in other folders. finished is false if the search was interrupted. plan and
// found are nil without a search.
func newReport(dir string, plan *Plan, found *outcome, finished bool, o Options) (*Report, error) {
	r := &Report{
		Schema: reportSchema, Partial: !finished, Plan: plan, Outcome: found, Commands: o.Commands, Assumptions: assumptions(),
	}
	if err := r.load(dir, o.From); err != nil {
		return nil, err
	}
	r.Model = sizing.NewModel(r.Points)
	if plan != nil {
		r.Answer = found.conclude(plan, finished)
	} else {
		r.adopt(o.From)
	}
	field, full := "", 0.0
	if r.Answer != nil {
		field = r.Plan.Grow.Field
	}
	if r.Answer.measured() {
		full = r.Answer.Value
	}
	r.HoldOut = checkHoldOut(r.Points, field, full)
	r.limit(o)
	base := r.base()
	for _, s := range o.Sizes {
		r.Sizes = append(r.Sizes, r.predict(over(s, base)))
	}
	for _, s := range o.Predict {
		r.Predictions = append(r.Predictions, r.predict(over(s, base)))
	}
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
		err = nil // the search was interrupted during its first run
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
	var largest sizing.Size
	for _, p := range r.Points {
		if p.Proxies >= largest.Proxies {
			largest = p.Size
		}
	}
	if r.Answer == nil {
		return largest
	}
	p := r.Plan.Base
	if changed, err := p.With(r.Plan.Grow.setting(r.Answer.Value)); err == nil && r.Answer.Value > 0 {
		p = changed
	}
	return sizing.SizeOf(p)
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
	if r.Answer == nil {
		return
	}
	if bound, lower, err := metric.ParseLimit(latencyMetric, r.Plan.Base.SLO[latencyMetric]); err == nil && !lower {
		l.P99 = bound
	}
	if r.Answer.measured() {
		l.PushRate = r.Model.At(r.base()).PushRate
		l.KneeFrom = "as at " + r.Plan.Grow.setting(r.Answer.Value) + ", the knee"
		if r.Answer.Kind == atLeast {
			l.KneeFrom = "as at " + r.Plan.Grow.setting(r.Answer.Value) + ", the largest load measured; the knee lies above"
		}
	}
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
		"CPU is the mean of steady load; connecting, starting and garbage collection need headroom above it",
		"replicas share the proxies evenly, and each holds all services and sees all mutations",
		"intervals are 95 % for one more run on the same machine, with independent errors of equal size (of the latency: in proportion to it); they hold only where nothing is extrapolated",
		"the control plane shared the machine with the harness, the in-memory API server included",
	}
}

// save writes the report in all formats into a folder.
func (r *Report) save(dir string) error {
	errs := []error{
		file.WriteJSON(filepath.Join(dir, reportFile), r),
		file.Write(filepath.Join(dir, markdownFile), r.Document("").Markdown),
	}
	for _, p := range r.plots() {
		errs = append(errs, file.Write(filepath.Join(dir, p.file), p.chart.SVG))
	}
	return errors.Join(errs...)
}

// Load reads a saved report, fits included.
func Load(dir string) (*Report, error) {
	path := filepath.Join(dir, reportFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("no report of the search in %s yet: run its command again to continue it: %w", dir, err)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	if r.Schema != reportSchema {
		return nil, fmt.Errorf("loading %s: its schema is %q, this version reads %q: use the version of xdsbench that wrote it", path, cmp.Or(r.Schema, "(none)"), reportSchema)
	}
	r.Model = sizing.NewModel(r.Points)
	return &r, nil
}
