package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/report"
	"github.com/xdsbench/xdsbench/result"
)

// absent stands for a field that a run does not have.
const absent = "absent"

// maxListed bounds lists in warnings.
const maxListed = 3

// fieldsOf returns the fields of one run by their names.
type fieldsOf func(r *result.Result) map[string]string

// profileFields are those of the resolved profile; none if it cannot be read.
func profileFields(r *result.Result) map[string]string {
	fields, err := experiment.Leaves(r.Profile)
	if err != nil {
		return nil
	}
	return fields
}

// environmentFields are what may change the numbers; the times and names of runs
// are not among them. What the profile has under target.env is not repeated.
func environmentFields(r *result.Result) map[string]string {
	e := r.Environment
	if e == nil {
		return nil
	}
	fields := map[string]string{
		"target": e.Target, "os": e.OS, "kernel": e.Kernel, "cpuModel": e.CPUModel,
		"cpus": strconv.Itoa(e.CPUs), "gomaxprocs": strconv.Itoa(e.GOMAXPROCS),
		"memory": report.Amount(float64(e.Memory), "bytes"),
	}
	for name, version := range e.Versions {
		fields["versions."+name] = version
	}
	inProfile := profileFields(r)
	for name, value := range e.TargetEnv {
		if _, ok := inProfile["target.env."+name]; !ok && name != "PATH" && name != "HOME" {
			fields["targetEnv."+name] = value
		}
	}
	return fields
}

func environment(before, after *Set) []Difference {
	inProfile := make(map[string]bool)
	for _, run := range slices.Concat(before.Runs, after.Runs) {
		for name := range profileFields(run.Result) {
			inProfile[strings.Replace(name, "target.env.", "targetEnv.", 1)] = true
		}
	}
	return slices.DeleteFunc(differences(before, after, environmentFields), func(d Difference) bool { return inProfile[d.Field] })
}

func profile(before, after *Set) []Difference { return differences(before, after, profileFields) }

// differences lists the fields whose values are not the same in both sets.
func differences(before, after *Set, of fieldsOf) []Difference {
	old, current := valuesByField(before, of), valuesByField(after, of)
	names := maps.Clone(old)
	maps.Copy(names, current)
	var found []Difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d := Difference{Field: name, Old: orAbsent(old[name]), New: orAbsent(current[name])}
		if !slices.Equal(d.Old, d.New) {
			found = append(found, d)
		}
	}
	return found
}

func orAbsent(values []string) []string {
	if len(values) == 0 {
		return []string{absent}
	}
	return values
}

// valuesByField lists the different values that each field has in a set.
func valuesByField(s *Set, of fieldsOf) map[string][]string {
	var runs []map[string]string
	values := make(map[string][]string)
	for _, run := range s.Runs {
		fields := of(run.Result)
		runs = append(runs, fields)
		for name := range fields {
			values[name] = nil
		}
	}
	for name := range values {
		for _, fields := range runs {
			value, ok := fields[name]
			if !ok {
				value = absent
			}
			values[name] = append(values[name], value)
		}
		slices.Sort(values[name])
		values[name] = slices.Compact(values[name])
	}
	return values
}

// caveats lists what weakens the conclusions of a set.
func caveats(s *Set, side string) []string {
	var found []string
	for _, part := range []struct {
		what string
		of   fieldsOf
	}{{"profiles", profileFields}, {"environments", environmentFields}} {
		if mixed := mixedFields(s, part.of); len(mixed) > 0 {
			found = append(found, fmt.Sprintf("the %s runs are not repeats of one another: their %s differ in %s", side, part.what, strings.Join(mixed, "; ")))
		}
	}
	if twice := repeated(s); len(twice) > 0 {
		found = append(found, fmt.Sprintf("the %s runs hold copies of one run (%s), which count as if they were repeats", side, strings.Join(twice, ", ")))
	}
	if cut := len(s.Runs) - s.whole(); cut > 0 {
		found = append(found, fmt.Sprintf("%d of %d %s runs were cut short and are left out", cut, len(s.Runs), side))
	}
	return append(found, doubts(s, side)...)
}

// mixedFields lists the fields in which the runs of a set differ. Repeats may
// have seeds of their own.
func mixedFields(s *Set, of fieldsOf) []string {
	var mixed []string
	byField := valuesByField(s, of)
	for _, name := range slices.Sorted(maps.Keys(byField)) {
		if values := byField[name]; len(values) > 1 && name != "seed" {
			mixed = append(mixed, fmt.Sprintf("%s (%s)", name, listed(values)))
		}
	}
	return mixed
}

// repeated lists the IDs that several runs of a set have.
func repeated(s *Set) []string {
	seen := make(map[string]int)
	var twice []string
	for _, run := range s.Runs {
		if e := run.Result.Environment; e != nil && e.RunID != "" {
			if seen[e.RunID]++; seen[e.RunID] == 2 {
				twice = append(twice, e.RunID)
			}
		}
	}
	return twice
}

// doubts says which runs should not be trusted, and why.
func doubts(s *Set, side string) []string {
	var which []string
	for _, run := range s.Runs {
		reasons := experiment.Doubts(run.Result)
		for _, slo := range run.Result.SLO {
			if !slo.Pass {
				reasons = append(reasons, "missed the SLO "+slo.Metric)
			}
		}
		if len(reasons) > 0 {
			which = append(which, fmt.Sprintf("%s (%s)", run.Path, strings.Join(reasons, "; ")))
		}
	}
	if len(which) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d %s runs are in doubt: %s", len(which), len(s.Runs), side, listed(which))}
}

// listed joins the first few of a list.
func listed(all []string) string {
	if len(all) <= maxListed {
		return strings.Join(all, ", ")
	}
	return strings.Join(all[:maxListed], ", ") + fmt.Sprintf(" and %d more", len(all)-maxListed)
}
