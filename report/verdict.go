package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
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

func (v verdict) style() doc.Style {
	if v == passed || v == done {
		return doc.Good
	}
	return doc.Bad
}

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
			found = append(found, units.Plural(n, one, many))
		}
	}
	if p := r.Proxies; p != nil {
		add(int64(p.Requested-p.Ready), "proxy never ready", "proxies never ready")
	}
	if p := r.Propagation; p != nil {
		add(p.Undelivered, "pair undelivered", "pairs undelivered")
		add(p.UnknownStates, "unknown state", "unknown states")
	}
	if c := r.Convergence; c != nil {
		add(int64(c.Diverged), "diverged proxy", "diverged proxies")
	}
	return found
}

// headline is the sentence after the verdict.
func headline(r *result.Result, v verdict) string {
	var parts []string
	switch v {
	case broken:
		parts = append(parts, "the counters contradict each other: do not trust the numbers")
	case partial:
		parts = append(parts, "the run was cut short")
	case missed:
		parts = append(parts, missedText(r.SLO))
	case saturated:
		parts = append(parts, "the harness was the bottleneck")
	case passed:
		parts = append(parts, "kept "+units.Plural(len(r.SLO), "SLO", "SLOs"))
	case defective, done:
	}
	if p := r.Propagation; p != nil && p.All != nil {
		parts = append(parts, reached(p.All))
	}
	if wrong := defects(r); len(wrong) > 0 {
		parts = append(parts, strings.Join(wrong, ", "))
	}
	return strings.Join(parts, "; ")
}

// reached says how long changes took.
func reached(d *result.Distribution) string {
	text := "changes reached proxies in " + units.Duration(d.P50) + " (p50), "
	if d.Covers(0.99) {
		return text + units.Duration(d.P99) + " (p99), " + units.Duration(d.Max) + " at most"
	}
	return text + units.Duration(d.Max) + " at most (of " + units.Plural(d.Count, "delivery", "deliveries") + ")"
}

func missedText(slo []result.SLO) string {
	var names []string
	for _, s := range slo {
		if !s.Pass {
			names = append(names, s.Metric)
		}
	}
	return fmt.Sprintf("missed %d of %s (%s)", len(names), units.Plural(len(slo), "SLO", "SLOs"), strings.Join(names, ", "))
}
