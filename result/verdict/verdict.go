package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/result"
)

// The verdicts, in the order of the harm that overlooking them does. A run has the
// first that applies; the reasons name all.
const (
	Failed    = "FAILED"     // the run could not go on
	NoData    = "NO DATA"    // nothing was measured
	Defects   = "DEFECTS"    // proxies did not get what they had to, or the numbers contradict each other
	SLOMissed = "SLO MISSED" // a limit of the profile was missed
	Partial   = "PARTIAL"    // the run was interrupted: what was measured holds for that part
	Saturated = "SATURATED"  // the load generator was the bottleneck
	Passed    = "PASSED"     // none of these
)

// Finding is one thing that the numbers say, and the verdict that it leads to.
type Finding struct {
	Verdict string
	Reason  string
}

// Findings lists everything that is wrong with a result, the worst first.
func Findings(r *result.Result) []Finding {
	var found []Finding
	add := func(verdict string, reasons ...string) {
		for _, reason := range reasons {
			found = append(found, Finding{verdict, reason})
		}
	}
	if r.Failure != "" {
		add(Failed, r.Failure)
	}
	add(NoData, noData(r)...)
	add(Defects, defects(r)...)
	for _, s := range r.SLO {
		if !s.Pass {
			add(SLOMissed, missed(s))
		}
	}
	if r.Partial && r.Failure == "" {
		add(Partial, "the run was interrupted")
	}
	if r.Harness != nil && r.Harness.Saturated {
		add(Saturated, r.Harness.Reasons...)
	}
	return found
}

// Judge sets the result's verdict and its reasons, each with the verdict that it
// leads to before it.
func Judge(r *result.Result) {
	r.Verdict, r.Reasons = Passed, nil
	for i, f := range Findings(r) {
		if i == 0 {
			r.Verdict = f.Verdict
		}
		r.Reasons = append(r.Reasons, f.Verdict+": "+f.Reason)
	}
}

// Of returns the result's verdict, and makes it where the result has none, as those
// of schema v1.
func Of(r *result.Result) string {
	if r.Verdict == "" {
		Judge(r)
	}
	return r.Verdict
}

// Has reports whether a result has a finding that leads to this verdict.
func Has(r *result.Result, verdict string) bool {
	return slices.ContainsFunc(Findings(r), func(f Finding) bool { return f.Verdict == verdict })
}

// noData says why a result has nothing to conclude from.
func noData(r *result.Result) []string {
	if p := r.Proxies; p != nil && p.Ready == 0 {
		return []string{because(fmt.Sprintf("none of %d proxies got ready", p.Requested), silences(r))}
	}
	m, p := r.Mutations, r.Propagation
	if m == nil || p == nil || p.Expected > 0 || m.Scheduled == 0 {
		return nil
	}
	switch {
	case r.Partial && m.Applied+m.Failed == 0:
		return []string{"the run was interrupted before any mutation"}
	case m.Applied == 0:
		return []string{because(fmt.Sprintf("none of %d mutations was applied", m.Scheduled), silences(r))}
	case m.Applied == m.Noop:
		return []string{fmt.Sprintf("all %d mutations were no-ops: there was nothing for a proxy to receive", m.Applied)}
	}
	return []string{because("0 pairs of a mutation and a proxy were expected", unsubscribed(r))}
}

// defects lists what a right control plane and a right run would not show.
func defects(r *result.Result) []string {
	var found []string
	add := func(n int64, format string, args ...any) {
		if n > 0 {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	for _, e := range r.Errors {
		found = append(found, "the result contradicts itself and is not to be trusted: "+e)
	}
	if p := r.Propagation; p != nil {
		if p.Undelivered > 0 {
			found = append(found, because(fmt.Sprintf("%d of %d pairs of a mutation and a proxy were not delivered", p.Undelivered, p.Expected), undeliveredCauses(r)))
		}
		add(p.UnknownStates, "proxies received %d states that the mesh never had", p.UnknownStates)
	}
	if c := r.Convergence; c != nil {
		add(int64(c.Diverged), "%d proxies ended with a wrong state (%d endpoints stale, %d missing, %d clusters missing)",
			c.Diverged, c.StaleEndpoints, c.MissingEndpoints, c.MissingClusters)
	}
	if s := r.Sync; s != nil {
		add(int64(s.IncompleteAtSteady), "%d proxies were ready, but lacked %d clusters of the mesh between them when steady load began%s",
			s.IncompleteAtSteady, s.ClustersLacking, longest(s.TimeToComplete))
	}
	if p := r.Proxies; p != nil && p.Ready > 0 && !r.Partial {
		add(int64(p.Requested-p.Ready), "%d of %d proxies never got ready", p.Requested-p.Ready, p.Requested)
	}
	if a := r.Acks; a != nil {
		add(a.NacksInvalid, "proxies rejected %d responses that are invalid (NACK)%s", a.NacksInvalid, anyOf(a.Reasons))
	}
	return found
}

// longest says when the last proxy was complete.
func longest(d *result.Distribution) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf("; the last to have all had it %s after its first attempt to connect", roundSeconds(d.Max))
}

// missed describes a limit that was not kept.
func missed(s result.SLO) string {
	if s.Value == nil {
		return fmt.Sprintf("%s was not measured (limit %s)", s.Metric, s.Limit)
	}
	value := fmt.Sprintf("%.4g %s", *s.Value, s.Unit)
	if s.Unit == "s" {
		value = roundSeconds(*s.Value).String()
	}
	if s.Note != "" {
		value += " (" + s.Note + ")"
	}
	return fmt.Sprintf("%s is %s, limit %s", s.Metric, strings.TrimSpace(value), s.Limit)
}
