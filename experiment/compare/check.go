package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// samples counts the runs that went on to their end.
func (s *Set) samples() (n int) {
	for _, run := range s.Runs {
		if !run.Result.Partial { // as one that failed is
			n++
		}
	}
	return n
}

// ErrNoData says that no run of a set went on to its end and measured anything.
var ErrNoData = errors.New("every run in it failed, was cut short or measured nothing: there is nothing to compare")

// checkSamples makes sure that a set has a run to compare.
func (s *Set) checkSamples() error {
	if slices.ContainsFunc(s.Runs, func(run Run) bool { return !run.Result.Partial && !verdict.Has(run.Result, verdict.NoData) }) {
		return nil
	}
	return fmt.Errorf("%s: %w", s.Path, ErrNoData)
}

// disjoint makes sure that no run is on both sides.
func disjoint(before, after *Set) error {
	for _, run := range after.Runs {
		if slices.ContainsFunc(before.Runs, run.same) {
			return fmt.Errorf("%s is in both sets, %s and %s: give two sets that have no run in common", run.Path, before.Path, after.Path)
		}
	}
	return nil
}

// checkLoad makes sure that both sides did the same work, or that they need not have.
// The seed is that of the draw: repeats may have seeds of their own.
func (r *Report) checkLoad(o *Options) error {
	var load []string
	for i := range r.Profile {
		if d := &r.Profile[i]; d.Field != "seed" && profiles.RoleOf(d.Field) == profiles.RoleLoad {
			load = append(load, d.text())
		}
	}
	switch {
	case len(load) == 0:
	case o.AllowDifferentLoad:
		r.Warnings = append(r.Warnings, "the two sides were not under the same load, which may be all that differs: "+strings.Join(load, "; "))
	default:
		return fmt.Errorf("%s and %s were not under the same load: %s: compare runs that differ in settings only, or add --allow-different-load",
			r.Old.Path, r.New.Path, strings.Join(load, "; "))
	}
	return nil
}

// same reports whether both are one run, or a copy of it.
func (r Run) same(other Run) bool {
	return r.Path == other.Path || r.id() != "" && r.id() == other.id()
}

// id is the run's own; empty if its result has none.
func (r Run) id() string {
	if r.Result.Environment == nil {
		return ""
	}
	return r.Result.Environment.RunID
}

func (s *Set) info() SetInfo {
	info := SetInfo{Path: s.Path}
	for _, run := range s.Runs {
		info.Runs = append(info.Runs, run.Path)
		info.Verdicts = append(info.Verdicts, verdict.Of(run.Result))
	}
	return info
}
