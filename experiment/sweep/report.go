package sweep

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
)

// reportSchema names the layout of a report file. v1 had other names for some figures
// and for what is questionable.
const reportSchema = "xdsbench/sweep-report/v2"

// Report is what a sweep found.
type Report struct {
	Schema string `json:"schema"`
	// Partial says that some runs are still to be made.
	Partial bool   `json:"partial"`
	Profile string `json:"profile"`
	Plan    *Plan  `json:"plan"`
	// Settings are in the plan's order.
	Settings []Outcome `json:"settings"`
	// Front holds the IDs of the settings that no other beats in both p99 latency
	// and control-plane processor time, the cheapest first.
	Front  []string `json:"front"`
	Advice Advice   `json:"advice"`
	// Assumptions are what the conclusions rest on.
	Assumptions []string `json:"assumptions"`
	// Warnings are caveats of the sweep as a whole.
	Warnings    []string            `json:"warnings,omitempty"`
	Environment *result.Environment `json:"environment,omitempty"`
	Commands    []string            `json:"commands"`
}

// Outcome is what one setting came to.
type Outcome struct {
	ID     string            `json:"id"`
	Name   string            `json:"name"`
	Values map[string]string `json:"values"`
	// Base says that this is the base profile as it is.
	Base bool         `json:"base,omitempty"`
	Runs []RunOutcome `json:"runs"`
	// Valid counts the finished runs that conclusions may be drawn from; Questionable
	// says why not from the others, and then none is drawn from this setting.
	Valid        int      `json:"valid"`
	Questionable []string `json:"questionable,omitempty"`
	// Noisy says that the p99 differs so much between the repeats that no advice
	// is given; see the assumptions.
	Noisy bool `json:"noisy,omitempty"`
	// Failures say why runs failed.
	Failures []string `json:"failures,omitempty"`
	// MissedSLO names the limits that any repeat missed.
	MissedSLO []string `json:"missedSLO,omitempty"`
	// Figures are over the finished runs.
	Figures  map[string]Figure `json:"figures,omitempty"`
	Profiles []Hotspots        `json:"profiles,omitempty"`
}

// RunOutcome is the state of one run.
type RunOutcome struct {
	// Dir is the run's folder within the sweep's.
	Dir string `json:"dir"`
	// State is "finished", "failed" or "missing".
	State string `json:"state"`
}

// The states of a run.
const (
	finished = "finished"
	failed   = "failed"
	missing  = "missing"
)

// noisyAbove is the spread of the p99 over the repeats, in relation to its median,
// above which a setting is noisy.
const noisyAbove = 0.5

// minRepeats is how many valid runs it takes to tell a difference from noise.
const minRepeats = 2

// Load makes the report of the sweep in a folder from what is saved there.
func Load(dir string) (*Report, error) {
	plan, err := loadPlan(dir)
	if err != nil {
		return nil, err
	}
	settings, err := plan.expand(func(*profiles.Profile) error { return nil }) // With has checked the fields
	if err != nil {
		return nil, fmt.Errorf("the sweep in %s: %w", dir, err)
	}
	r := &Report{Schema: reportSchema, Profile: plan.Base.Name, Plan: plan, Front: []string{}, Commands: plan.commands(settings)}
	var all []*result.Result
	for _, s := range settings {
		outcome, results := loadSetting(dir, plan, s)
		r.Settings = append(r.Settings, outcome)
		all = append(all, results...)
	}
	r.Partial = slices.ContainsFunc(r.Settings, func(o Outcome) bool { return o.has(missing) })
	if plan.variedLoad() == "" { // settings under different load are no alternatives
		for _, o := range front(r.conclusive()) {
			r.Front = append(r.Front, o.ID)
		}
	}
	r.Assumptions = assumptions(plan)
	r.addEnvironment(all)
	r.Advice = r.advise()
	return r, nil
}

// loadSetting reads the runs of one setting.
func loadSetting(dir string, plan *Plan, s Setting) (Outcome, []*result.Result) {
	o := Outcome{ID: s.ID, Name: s.Name, Values: make(map[string]string), Base: s.Base}
	for i, value := range s.Values {
		o.Values[plan.Vary[i].Field] = value
	}
	var results []*result.Result
	for repeat := 1; repeat <= plan.Repeat; repeat++ {
		name := filepath.Join(runsDir, filepath.FromSlash(run{s, repeat}.name()))
		state := RunOutcome{Dir: name, State: missing}
		if res, ok := experiment.Finished(filepath.Join(dir, name), s.Profile); ok {
			state.State = finished
			results = append(results, res)
			o.judge(repeat, res)
		} else if reason := failure(filepath.Join(dir, name)); reason != "" {
			state.State = failed
			o.Failures = append(o.Failures, reason)
		}
		o.Runs = append(o.Runs, state)
	}
	o.Figures = summarise(results)
	o.Noisy = o.p99().spread() > noisyAbove
	o.Profiles = hotspots(o.ID, results)
	return o, results
}

// judge takes what one finished run says of the setting.
func (o *Outcome) judge(repeat int, r *result.Result) {
	reasons := experiment.Questionable(r)
	if len(reasons) == 0 {
		o.Valid++
	}
	for _, reason := range reasons {
		o.Questionable = append(o.Questionable, fmt.Sprintf("run %d: %s", repeat, reason))
	}
	for _, s := range r.SLO {
		if !s.Pass && !slices.Contains(o.MissedSLO, s.Metric) {
			o.MissedSLO = append(o.MissedSLO, s.Metric)
		}
	}
}

func (o *Outcome) has(state string) bool { return o.count(state) > 0 }

func (o *Outcome) count(state string) (n int) {
	for _, r := range o.Runs {
		if r.State == state {
			n++
		}
	}
	return n
}

// valid reports whether conclusions may be drawn at all.
func (o *Outcome) valid() bool {
	return o.Valid > 0 && len(o.Questionable) == 0 && len(o.Failures) == 0
}

// conclusive lists the valid settings with both figures of the front.
func (r *Report) conclusive() []*Outcome {
	var all []*Outcome
	for i := range r.Settings {
		if o := &r.Settings[i]; o.valid() && o.comparable() {
			all = append(all, o)
		}
	}
	return all
}

// Failed names the settings without a valid run, of those that were run.
func (r *Report) Failed() []string {
	var names []string
	for _, o := range r.Settings {
		if o.Valid == 0 && (o.has(failed) || o.has(finished)) {
			names = append(names, o.Name)
		}
	}
	return names
}

// find returns the setting with this ID; nil if there is none.
func (r *Report) find(id string) *Outcome {
	for i := range r.Settings {
		if r.Settings[i].ID == id {
			return &r.Settings[i]
		}
	}
	return nil
}

// addEnvironment fills in where the runs were made, and warns if that is not the same
// for all of them.
func (r *Report) addEnvironment(all []*result.Result) {
	differ := make(map[string]bool)
	for _, res := range all {
		e := res.Environment
		if e == nil {
			continue
		}
		if r.Environment == nil {
			r.Environment = e
		}
		differ["machine"] = differ["machine"] || e.CPUModel != r.Environment.CPUModel || e.CPUs != r.Environment.CPUs
		differ["version of the target"] = differ["version of the target"] || !r.Plan.variesTarget() && e.Versions["target"] != r.Environment.Versions["target"]
		differ["version of xdsbench"] = differ["version of xdsbench"] || e.Versions["xdsbench"] != r.Environment.Versions["xdsbench"]
	}
	for _, what := range []string{"machine", "version of xdsbench", "version of the target"} {
		if differ[what] {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the runs do not all have the same %s: figures of different runs may not be comparable", what))
		}
	}
}

func assumptions(p *Plan) []string {
	return []string{
		fmt.Sprintf("Each run has a control plane and a fleet of its own. The order of the runs is random within each of %d rounds, from the profile's seed %d; the mesh and the changes are the same in all runs of a setting.", p.Repeat, p.Base.Seed),
		"Figures are medians over the repeats, with the least and the largest. Latency counts from a change's scheduled time until a proxy had it; CPU is the control plane's, from the start of steady load to the end of the drain.",
		"A difference is within noise if the two ranges over the repeats overlap, or, for CPU, are no further apart than the 10 ms in which Linux counts it. " + chance(p.Repeat),
		fmt.Sprintf("A setting is noisy if its p99 spans more than %s of the median. Advice needs %d valid runs or more, and is never drawn from noisy settings, nor from questionable runs (load generator the bottleneck, states missing or wrong, contradictions).", units.Percent(noisyAbove), minRepeats),
		"Pushes are of one type to one proxy each; saved is what they fall short of one per change and proxy, and negative where full pushes of several types outnumber what was merged.",
		"The Pareto front holds the settings that no other beats in both p99 latency and CPU.",
	}
}

// commands run the sweep, and each setting by itself, again.
func (p *Plan) commands(settings []Setting) []string {
	parts := []string{"xdsbench sweep -f " + profileFile}
	for _, v := range p.Vary {
		parts = append(parts, "--vary "+quote(v.String()))
	}
	parts = append(parts, fmt.Sprintf("--repeat %d", p.Repeat))
	apiServer := ""
	if p.Kubeconfig != "" {
		apiServer += " --kubeconfig " + quote(p.Kubeconfig)
	}
	if p.Context != "" {
		apiServer += " --context " + quote(p.Context)
	}
	all := []string{strings.Join(parts, " ") + apiServer}
	for _, s := range settings {
		one := []string{"xdsbench run -f " + profileFile}
		for i, value := range s.Values {
			if field := p.Vary[i].Field; field == "rate" {
				one = append(one, "--rate "+quote(value))
			} else {
				one = append(one, "--set "+quote(field+"="+value))
			}
		}
		all = append(all, strings.Join(one, " ")+apiServer)
	}
	return all
}

// quote makes text one word of a shell's command line.
func quote(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,=_-/:") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
