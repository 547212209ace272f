package report

import (
	"fmt"
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
		parts = append(parts, fmt.Sprintf("changes reached proxies in %s (p50), %s (p99), %s at most",
			units.Duration(p.All.P50), units.Duration(p.All.P99), units.Duration(p.All.Max)))
	}
	return strings.Join(parts, "; ")
}
