package capacity

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// loadVerdict is what a run or a load came to.
type loadVerdict string

// The verdicts.
const (
	// kept is an SLO that was kept.
	kept loadVerdict = "kept"
	// broken is an SLO that was missed, a run that failed or measured nothing, or one
	// with defects.
	broken loadVerdict = "broken"
	// saturated is a run that would be broken, but while the harness was the
	// bottleneck: it says nothing about the control plane. What the harness adds makes
	// latencies longer, so an SLO that is kept all the same is kept.
	saturated loadVerdict = "saturated"
)

// did is what a load with the verdict did.
func (v loadVerdict) did() string {
	return map[loadVerdict]string{kept: "kept the SLO", broken: "broke the SLO", saturated: "saturated the harness"}[v]
}

// step is one run of a search.
type step struct {
	Run   string  `json:"run"`
	Stage string  `json:"stage"`
	Value float64 `json:"value"`
	// Verdict is of this run alone. Reasons say why it was not kept, and in what the
	// harness was the bottleneck.
	Verdict loadVerdict `json:"verdict"`
	Reasons []string    `json:"reasons,omitempty"`
	// WallSeconds is how long the run took, connecting included.
	WallSeconds float64 `json:"wallSeconds,omitempty"`
	// P99 is propagation.all.p99, in seconds; P99Note qualifies it: "max of 60" where
	// the samples are too few for it.
	P99     *float64 `json:"p99Seconds,omitempty"`
	P99Note string   `json:"p99Note,omitempty"`
}

// probe tries a value, and narrows the bracket by the verdict. If it saturates the
// harness, the larger value is tried too, if it lies in the bracket: one that keeps
// the SLO shows that the harness can do more, and the search continues from there.
func (s *searcher) probe(ctx context.Context, b *bracket, stage string, value, larger float64) error {
	g := s.Plan.Grow
	v, reasons, err := s.try(ctx, b, stage, value)
	if err != nil {
		return err
	}
	if v == saturated && larger > value && (b.Above == nil || larger < *b.Above) {
		next, _, err := s.try(ctx, b, stage, larger)
		if err != nil {
			return err
		}
		b.note("%s saturated the harness; the larger %s %s", g.text(value), g.text(larger), next.did())
		if next == kept {
			v, value = kept, larger
		}
	}
	if v == kept {
		b.Kept = &value
	} else {
		b.Above, b.Verdict, b.Reasons = &value, v, reasons
	}
	return nil
}

// try runs a value, a second time if the first run fails, and says what that shows
// and why.
func (s *searcher) try(ctx context.Context, b *bracket, stage string, value float64) (loadVerdict, []string, error) {
	name := s.Plan.Grow.text(value)
	profile, err := s.Plan.Base.With(s.Plan.Grow.setting(value))
	if err != nil {
		return "", nil, err
	}
	if stage == stageSoak {
		profile = s.Plan.soakProfile(profile)
	}
	first, err := s.run(ctx, b, stage, value, profile, false)
	if err != nil {
		return "", nil, err
	}
	if first.Verdict == kept {
		if len(first.Reasons) > 0 {
			b.note("%s kept the SLO although the harness was a bottleneck: %s", name, strings.Join(first.Reasons, "; "))
		}
		return kept, nil, nil
	}
	second, err := s.run(ctx, b, stage, value, profile, true)
	switch {
	case err != nil:
		return "", nil, err
	case second.Verdict == kept:
		b.note("%s %s in one run and kept the SLO in another: taken as kept", name, first.Verdict.did())
		return kept, nil, nil
	case first.Verdict == saturated: // then there is only one broken run, if any
		return saturated, first.Reasons, nil
	}
	return second.Verdict, second.Reasons, nil
}

// run makes one run and judges it. The error is of the search, not of the run: a
// run that fails breaks the SLO.
func (s *searcher) run(ctx context.Context, b *bracket, stage string, value float64, p *profiles.Profile, again bool) (step, error) {
	g := s.Plan.Grow
	s.count++
	title := s.title(b, stage, value, again)
	name := s.runName(stage, value, again)
	res, _, err := s.runs.Do(ctx, name, p, func(status harness.Status) {
		if s.Progress != nil {
			s.Progress(title, status)
		}
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return step{}, ctx.Err()
	case errors.Is(err, harness.ErrInvalid):
		return step{}, err
	case res == nil && again && stage == stageGrow && value == g.From:
		return step{}, fmt.Errorf("the smallest load, %s, cannot be run: %w", g.setting(value), err)
	}
	made := step{Run: filepath.Join(runsDir, filepath.FromSlash(name)), Stage: stage, Value: value}
	made.judge(res, err)
	b.Steps = append(b.Steps, made)
	return made, nil
}

// title is what the progress of a run is shown under.
func (s *searcher) title(b *bracket, stage string, value float64, again bool) string {
	text := fmt.Sprintf("run %d: %s %s", s.count, stage, s.Plan.Grow.setting(value))
	if s.Plan.Repeat > 1 {
		text = fmt.Sprintf("search %d of %d, %s", s.search, s.Plan.Repeat, text)
	}
	if again {
		text += " again"
	}
	if stage != stageSoak {
		text += " in " + b.text(s.Plan.Grow)
	}
	return text
}

// runName is the folder of a run, such as "1/proxies.count-400-again".
func (s *searcher) runName(stage string, value float64, again bool) string {
	name := s.Plan.Grow.Field + "-" + s.Plan.Grow.number(value)
	if again {
		name += "-again"
	}
	if stage == stageSoak {
		return "soak/" + name
	}
	return fmt.Sprintf("%d/%s", s.search, name)
}

// judge fills in what a run shows.
func (s *step) judge(r *result.Result, err error) {
	s.Verdict = kept
	if err != nil {
		s.Verdict, s.Reasons = broken, []string{fmt.Sprintf("the run failed: %v", err)}
	}
	if r == nil {
		return
	}
	if r.Propagation != nil && r.Propagation.All != nil {
		s.P99, s.P99Note = &r.Propagation.All.P99, r.Propagation.All.Mark("p99")
	}
	if h := r.Harness; h != nil && h.WallSeconds != nil {
		s.WallSeconds = *h.WallSeconds
	}
	var bottleneck []string
	for _, f := range verdict.Findings(r) {
		switch f.Verdict {
		case verdict.Failed, verdict.Partial: // as err says
		case verdict.Saturated:
			bottleneck = append(bottleneck, f.Reason)
		default:
			s.Verdict, s.Reasons = broken, append(s.Reasons, f.Reason)
		}
	}
	if len(bottleneck) > 0 && s.Verdict == broken {
		s.Verdict = saturated
	}
	s.Reasons = append(bottleneck, s.Reasons...)
}
