package capacity

import (
	"fmt"
	"slices"

	"github.com/xdsbench/xdsbench/report"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
)

// Verdict is what a run or a value came to.
type Verdict string

// The verdicts.
const (
	// Kept is an SLO that was kept.
	Kept Verdict = "kept"
	// Broken is an SLO that was missed, a run that failed, or a fleet that did not
	// become ready.
	Broken Verdict = "broken"
	// Saturated is an SLO that was missed, or could not be told, while the harness
	// was the bottleneck: nothing can be said. What the harness adds makes latencies
	// longer, so an SLO that is kept all the same is kept.
	Saturated Verdict = "saturated"
)

func (v Verdict) did() string {
	if v == Saturated {
		return "saturated the harness"
	}
	return "broke the SLO"
}

// judge fills in what a run says.
func (s *Step) judge(r *result.Result, err error, slo map[string]string) {
	s.Verdict = Kept
	broken := func(format string, args ...any) {
		s.Verdict = Broken
		s.Reasons = append(s.Reasons, fmt.Sprintf(format, args...))
	}
	if err != nil {
		broken("the run failed: %v", err)
	}
	if r == nil {
		return
	}
	if r.Harness != nil && r.Harness.WallSeconds != nil {
		s.WallSeconds = *r.Harness.WallSeconds
	}
	if r.Propagation != nil && r.Propagation.All != nil {
		s.P99 = &r.Propagation.All.P99
	}
	for _, e := range r.Errors {
		broken("the result contradicts itself: %s", e)
	}
	if p := r.Proxies; p != nil && p.Ready < p.Requested {
		broken("%d of %d proxies became ready", p.Ready, p.Requested)
	}
	verdicts, err := metric.Evaluate(r, slo)
	if err != nil {
		broken("%v", err)
	}
	for _, v := range verdicts {
		if !v.Pass {
			broken("%s", missed(v))
		}
	}
	if h := r.Harness; h != nil && h.Saturated {
		s.doubt(h.Reasons)
	}
}

// doubt notes in what the harness was the bottleneck.
func (s *Step) doubt(reasons []string) {
	s.Reasons = append(slices.Clone(reasons), s.Reasons...)
	if s.Verdict != Kept {
		s.Verdict = Saturated
	}
}

// missed says by how much a limit was missed.
func missed(s result.SLO) string {
	if s.Value == nil {
		return fmt.Sprintf("%s was not measured (limit %s)", s.Metric, s.Limit)
	}
	return fmt.Sprintf("%s is %s (limit %s)", s.Metric, report.Amount(*s.Value, s.Unit), s.Limit)
}
