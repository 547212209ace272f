package capacity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/harness"
)

// The stages of a search.
const (
	stageGrow   = "grow"
	stageBisect = "bisect"
	stageSoak   = "soak"
)

// maxSoaks bounds how often a soak that fails lowers the answer.
const maxSoaks = 4

// Config says where a search's runs go and how they are made.
type Config struct {
	// Dir is the search's folder. Finished runs of the same plan in it are kept.
	Dir  string
	Plan *Plan
	Run  experiment.RunFunc
	// Progress, if set, is called several times a second with the run under way, such
	// as "run 3: grow proxies.count=400 again in 200..?", and what it is doing.
	Progress func(run string, s harness.Status)
	// Report says what the report holds beside the search.
	Report Options
}

// bracket is what one search, or the soak, came to.
type bracket struct {
	// Kept is the largest value that kept the SLO; nil if From broke it.
	Kept *float64 `json:"kept,omitempty"`
	// Above is the smallest value that did not, nil if To kept it, and why.
	Above   *float64    `json:"above,omitempty"`
	Verdict loadVerdict `json:"verdict,omitempty"`
	Reasons []string    `json:"reasons,omitempty"`
	// Steps are the runs, in the order made.
	Steps []step   `json:"steps"`
	Notes []string `json:"notes,omitempty"`
}

// text writes the bracket, such as "200..400", with "?" for what is not known.
func (b *bracket) text(g Range) string {
	low, high := "?", "?"
	if b.Kept != nil {
		low = g.number(*b.Kept)
	}
	if b.Above != nil {
		high = g.number(*b.Above)
	}
	return low + ".." + high
}

func (b *bracket) note(format string, args ...any) {
	b.Notes = append(b.Notes, fmt.Sprintf(format, args...))
}

// outcome is what all searches came to.
type outcome struct {
	Searches []bracket `json:"searches"`
	// Soak is the last stage; nil without one.
	Soak *bracket `json:"soak,omitempty"`
}

// searcher carries out a plan.
type searcher struct {
	Config
	runs   *experiment.Runs
	count  int
	search int
}

// Search carries out the plan, and saves a report in its folder. If ctx ends
// first, the report is of the runs made so far and marked partial, and the error is
// that of ctx. With any other error there is no report.
func Search(ctx context.Context, cfg Config) (*Report, error) {
	cfg.Plan.Schema = planSchema
	if err := prepare(cfg.Dir, cfg.Plan); err != nil {
		return nil, err
	}
	s := &searcher{Config: cfg, runs: &experiment.Runs{Dir: filepath.Join(cfg.Dir, runsDir), Run: cfg.Run}}
	found, err := s.all(ctx)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	r, err := newReport(cfg.Dir, cfg.Plan, found, ctx.Err() == nil, cfg.Report)
	if err != nil {
		return nil, err
	}
	return r, errors.Join(r.save(cfg.Dir), ctx.Err())
}

// all makes the searches and the soak. The outcome has the steps made so far if
// there is an error.
func (s *searcher) all(ctx context.Context) (*outcome, error) {
	out := &outcome{}
	for s.search = 1; s.search <= s.Plan.Repeat; s.search++ {
		found, err := s.one(ctx)
		out.Searches = append(out.Searches, *found)
		if err != nil {
			return out, err
		}
	}
	s.search = s.Plan.Repeat
	middle := median(out.Searches)
	if s.Plan.Soak.Duration <= 0 || middle.Kept == nil {
		return out, nil
	}
	var err error
	out.Soak, err = s.soak(ctx, *middle.Kept)
	return out, err
}

// median returns the search in the middle, by the value that was kept.
func median(all []bracket) bracket {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b bracket) int { return cmp.Compare(a.kept(), b.kept()) })
	return sorted[(len(sorted)-1)/2]
}

// kept is the largest value that kept the SLO, zero for none.
func (b *bracket) kept() float64 {
	if b.Kept == nil {
		return 0
	}
	return *b.Kept
}

// one makes one search.
func (s *searcher) one(ctx context.Context) (*bracket, error) {
	b, g := &bracket{}, s.Plan.Grow
	for value := g.From; ; value = g.next(*b.Kept, s.Plan.Step) {
		if err := s.probe(ctx, b, stageGrow, value, g.next(value, s.Plan.Step)); err != nil {
			return b, err
		}
		if b.Above != nil {
			break
		}
		if *b.Kept >= g.To {
			return b, nil
		}
	}
	for b.Kept != nil && *b.Above-*b.Kept > s.Plan.Tolerance**b.Kept {
		middle := g.round((*b.Kept + *b.Above) / 2)
		if middle <= *b.Kept || middle >= *b.Above {
			break
		}
		if err := s.probe(ctx, b, stageBisect, middle, g.round((middle+*b.Above)/2)); err != nil {
			return b, err
		}
	}
	return b, nil
}

// soak confirms a value with a longer run, or lowers it: by the tolerance, then
// by twice as much each time.
func (s *searcher) soak(ctx context.Context, value float64) (*bracket, error) {
	b, g := &bracket{}, s.Plan.Grow
	start, cut := value, s.Plan.Tolerance
	for range maxSoaks {
		if err := s.probe(ctx, b, stageSoak, value, value); err != nil || b.Kept != nil {
			return b, err
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
	return b, nil
}
