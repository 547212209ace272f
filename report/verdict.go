package report

import (
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// style is how a verdict is shown.
func style(v string) doc.Style {
	switch v {
	case verdict.Passed:
		return doc.Good
	case verdict.Partial, verdict.Saturated:
		return doc.Warn
	}
	return doc.Bad
}

// headline is the sentence after the verdict.
func headline(r *result.Result) string {
	var parts []string
	kept := slices.IndexFunc(r.SLO, func(s result.SLO) bool { return !s.Pass }) < 0
	if len(r.SLO) > 0 && kept {
		parts = append(parts, "kept "+units.Plural(len(r.SLO), "SLO", "SLOs"))
	}
	if p := r.Propagation; p != nil && p.All != nil {
		parts = append(parts, reached(p.All))
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
