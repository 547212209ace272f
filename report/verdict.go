package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/result"
)

// verdict is what a result comes down to, in one word.
type verdict string

// The verdicts, the most serious first.
const (
	broken    verdict = "BROKEN"    // the numbers contradict each other
	partial   verdict = "PARTIAL"   // the run was cut short
	missed    verdict = "FAIL"      // an SLO was missed
	saturated verdict = "SATURATED" // the harness was the bottleneck
	defective verdict = "DEFECTS"   // proxies are wrong, and no SLO says anything
	passed    verdict = "PASS"      // every SLO was kept
	done      verdict = "DONE"      // there were no SLOs
)

func (v verdict) good() bool { return v == passed || v == done }

func judge(r *result.Result) verdict {
	switch {
	case len(r.Errors) > 0:
		return broken
	case r.Partial:
		return partial
	case slices.ContainsFunc(r.SLO, func(s result.SLO) bool { return !s.Pass }):
		return missed
	case r.Harness != nil && r.Harness.Saturated:
		return saturated
	case len(r.SLO) > 0:
		return passed
	case len(defects(r)) > 0:
		return defective
	}
	return done
}

// defects lists what a right control plane and a right run would not show.
func defects(r *result.Result) []string {
	var found []string
	add := func(n int64, one, many string) {
		if n > 0 {
			found = append(found, plural(n, one, many))
		}
	}
	if p := r.Proxies; p != nil {
		add(int64(p.Requested-p.Ready), "proxy never ready", "proxies never ready")
	}
	if p := r.Propagation; p != nil {
		add(p.Undelivered, "pair unreached", "pairs unreached")
		add(p.UnknownStates, "unexplained state", "unexplained states")
	}
	if c := r.Convergence; c != nil {
		add(int64(c.Diverged), "diverged proxy", "diverged proxies")
	}
	return found
}

// headline is the sentence after the verdict.
func headline(r *result.Result, v verdict, name string) string {
	var parts []string
	switch v {
	case broken:
		parts = append(parts, "the numbers contradict each other and are not to be trusted")
	case partial:
		parts = append(parts, "the run was cut short")
	case missed:
		parts = append(parts, missedText(r.SLO))
	case saturated:
		parts = append(parts, "the harness was the bottleneck")
	case passed:
		parts = append(parts, "kept "+plural(len(r.SLO), "SLO", "SLOs"))
	case defective, done:
	}
	if p := r.Propagation; p != nil && p.All != nil {
		parts = append(parts, fmt.Sprintf("changes reached proxies in %s (p50), %s (p99), %s at most",
			span(p.All.P50), span(p.All.P99), span(p.All.Max)))
	}
	if wrong := defects(r); len(wrong) > 0 {
		parts = append(parts, strings.Join(wrong, ", "))
	}
	text := strings.Join(parts, "; ")
	if name == "" {
		return text
	}
	return name + ": " + text
}

func missedText(slo []result.SLO) string {
	var names []string
	for _, s := range slo {
		if !s.Pass {
			names = append(names, s.Metric)
		}
	}
	return fmt.Sprintf("missed %d of %s (%s)", len(names), plural(len(slo), "SLO", "SLOs"), strings.Join(names, ", "))
}
