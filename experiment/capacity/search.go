package capacity

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/profiles"
)

// The stages of a search.
const (
	StageGrow   = "grow"
	StageBisect = "bisect"
	StageSoak   = "soak"
)

// maxSoaks bounds how often a soak that fails lowers the answer.
const maxSoaks = 4

// Config says where a search's runs go and how they are made.
type Config struct {
	// Dir is the search's folder. Finished runs of the same plan in it are kept.
	Dir  string
	Plan *Plan
	Run  experiment.RunFunc
	// Progress, if set, is called several times a second while a run is under way.
	Progress func(Progress)
}

// Progress is where a search stands.
type Progress struct {
	// Run counts the runs from 1, the kept ones too.
	Run int
	// Search counts from 1 to Searches.
	Search, Searches int
	Stage            string
	// Point is the value on trial, such as "proxies.count=400"; Again says that it
	// failed once.
	Point string
	Again bool
	// Bracket is what is known: the largest value kept and the smallest broken.
	Bracket string
	Status  harness.Status
}

// Step is one run of a search.
type Step struct {
	Run   string  `json:"run"`
	Stage string  `json:"stage"`
	Value float64 `json:"value"`
	// Verdict is of this run alone. Reasons say why it was not kept, and in what the
	// harness was the bottleneck.
	Verdict Verdict  `json:"verdict"`
	Reasons []string `json:"reasons,omitempty"`
	// WallSeconds is how long the run took, connecting included.
	WallSeconds float64 `json:"wallSeconds,omitempty"`
	// P99 is propagation.all.p99, in seconds.
	P99 *float64 `json:"p99Seconds,omitempty"`
}

// Found is what one search came to.
type Found struct {
	// Kept is the largest value that kept the SLO; nil if From broke it.
	Kept *float64 `json:"kept,omitempty"`
	// Above is the smallest value that did not, nil if To kept it, and why.
	Above   *float64 `json:"above,omitempty"`
	Verdict Verdict  `json:"verdict,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	// Steps are the runs, in the order made.
	Steps []Step   `json:"steps"`
	Notes []string `json:"notes,omitempty"`
}

// Outcome is what all searches came to.
type Outcome struct {
	Searches []Found `json:"searches"`
	// Soak is the last stage; nil without one.
	Soak *Found `json:"soak,omitempty"`
}

// searcher carries out a plan.
type searcher struct {
	cfg    Config
	runs   *experiment.Runs
	count  int
	search int
}

// Search carries out the plan. An outcome comes back beside an error too: it has
// the steps made so far. The error is that of ctx if the search was cut short.
func Search(ctx context.Context, cfg Config) (*Outcome, error) {
	if err := prepare(cfg.Dir, cfg.Plan); err != nil {
		return nil, err
	}
	s := &searcher{cfg: cfg, runs: &experiment.Runs{Dir: filepath.Join(cfg.Dir, runsDir), Run: cfg.Run}}
	out := &Outcome{}
	for s.search = 1; s.search <= cfg.Plan.Repeat; s.search++ {
		found, err := s.one(ctx)
		out.Searches = append(out.Searches, *found)
		if err != nil {
			return out, err
		}
	}
	s.search = cfg.Plan.Repeat
	answer := median(out.Searches)
	if cfg.Plan.Soak.Duration <= 0 || answer.Kept == nil {
		return out, nil
	}
	var err error
	out.Soak, err = s.soak(ctx, *answer.Kept)
	return out, err
}

// median returns the search in the middle, by what was kept.
func median(all []Found) Found {
	sorted := slices.Clone(all)
	value := func(f Found) float64 {
		if f.Kept == nil {
			return 0
		}
		return *f.Kept
	}
	slices.SortStableFunc(sorted, func(a, b Found) int {
		switch x, y := value(a), value(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return sorted[(len(sorted)-1)/2]
}

// one makes one search.
func (s *searcher) one(ctx context.Context) (*Found, error) {
	f := &Found{}
	g := s.cfg.Plan.Grow
	for value := g.From; ; value = g.next(value, s.cfg.Plan.Step) {
		kept, err := s.try(ctx, f, StageGrow, value)
		if err != nil {
			return f, err
		}
		if !kept {
			break
		}
		if value >= g.To {
			return f, nil
		}
	}
	for f.Kept != nil && f.wide(s.cfg.Plan) {
		middle := g.round((*f.Kept + *f.Above) / 2)
		if middle <= *f.Kept || middle >= *f.Above {
			break
		}
		if _, err := s.try(ctx, f, StageBisect, middle); err != nil {
			return f, err
		}
	}
	return f, nil
}

// next is the value after this one, To at most; a count grows by one at least.
func (g Range) next(value, step float64) float64 {
	next := g.round(value * step)
	if next <= value {
		next = value + 1
	}
	return min(g.To, next)
}

// wide reports whether the bracket is wider than the tolerance.
func (f *Found) wide(p *Plan) bool {
	return *f.Above-*f.Kept > p.Tolerance**f.Kept
}

// try runs a value, a second time if the first fails, and notes what that says.
func (s *searcher) try(ctx context.Context, f *Found, stage string, value float64) (kept bool, err error) {
	profile, err := s.cfg.Plan.Base.With(s.cfg.Plan.Grow.setting(value))
	if err != nil {
		return false, err
	}
	if stage == StageSoak {
		profile = s.cfg.Plan.soakProfile(profile)
	}
	first, err := s.run(ctx, f, stage, value, profile, false)
	if err != nil {
		return false, err
	}
	if first.Verdict == Kept {
		if len(first.Reasons) > 0 {
			f.Notes = append(f.Notes, fmt.Sprintf("%s was kept although the harness was a bottleneck: %s", s.cfg.Plan.Grow.text(value), strings.Join(first.Reasons, "; ")))
		}
		f.keep(value)
		return true, nil
	}
	second, err := s.run(ctx, f, stage, value, profile, true)
	if err != nil {
		return false, err
	}
	if second.Verdict == Kept {
		f.Notes = append(f.Notes, fmt.Sprintf("%s %s once and was kept once: taken as kept", s.cfg.Plan.Grow.text(value), first.Verdict.did()))
		f.keep(value)
		return true, nil
	}
	f.Above, f.Verdict, f.Reasons = &value, second.Verdict, second.Reasons
	if first.Verdict == Saturated { // then one broken run is all there is
		f.Verdict, f.Reasons = first.Verdict, first.Reasons
	}
	return false, nil
}

func (f *Found) keep(value float64) { f.Kept = &value }

// run makes one run and judges it. The error is of the search, not of the run: a
// run that fails breaks the SLO.
func (s *searcher) run(ctx context.Context, f *Found, stage string, value float64, p *profiles.Profile, again bool) (Step, error) {
	s.count++
	name := s.name(stage, value, again)
	res, _, err := s.runs.Do(ctx, name, p, s.progress(f, stage, value, again))
	switch {
	case ctx.Err() != nil && err != nil:
		return Step{}, ctx.Err()
	case errors.Is(err, harness.ErrInvalid):
		return Step{}, err
	}
	step := Step{Run: filepath.Join(runsDir, filepath.FromSlash(name)), Stage: stage, Value: value}
	step.judge(res, err, p.SLO)
	f.Steps = append(f.Steps, step)
	if res == nil && again && f.Kept == nil && stage == StageGrow {
		return step, fmt.Errorf("the smallest load, %s, cannot be run: %w", s.cfg.Plan.Grow.setting(value), err)
	}
	return step, nil
}

// name is the folder of a run, such as "1/proxies.count-400-again".
func (s *searcher) name(stage string, value float64, again bool) string {
	text := s.cfg.Plan.Grow.Field + "-" + s.cfg.Plan.Grow.number(value)
	if again {
		text += "-again"
	}
	if stage == StageSoak {
		return "soak/" + text
	}
	return fmt.Sprintf("%d/%s", s.search, text)
}

// progress returns the callback of a run.
func (s *searcher) progress(f *Found, stage string, value float64, again bool) func(harness.Status) {
	if s.cfg.Progress == nil {
		return nil
	}
	p := Progress{
		Run: s.count, Search: s.search, Searches: s.cfg.Plan.Repeat, Stage: stage,
		Point: s.cfg.Plan.Grow.setting(value), Again: again, Bracket: f.bracket(s.cfg.Plan.Grow),
	}
	return func(status harness.Status) {
		p.Status = status
		s.cfg.Progress(p)
	}
}

func (f *Found) bracket(g Range) string {
	low, high := "?", "?"
	if f.Kept != nil {
		low = g.number(*f.Kept)
	}
	if f.Above != nil {
		high = g.number(*f.Above)
	}
	return low + ".." + high
}

// soak confirms a value with a longer run, or lowers it: by the tolerance, then
// by twice as much each time.
func (s *searcher) soak(ctx context.Context, value float64) (*Found, error) {
	f := &Found{}
	g, cut := s.cfg.Plan.Grow, s.cfg.Plan.Tolerance
	start := value
	for range maxSoaks {
		kept, err := s.try(ctx, f, StageSoak, value)
		if kept || err != nil {
			return f, err
		}
		next := g.round(start * (1 - cut))
		if next >= value && g.Whole {
			next = value - 1
		}
		cut *= 2
		if next = max(next, g.From); next >= value {
			break
		}
		value = next
	}
	return f, nil
}
