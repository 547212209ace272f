package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// maxListed bounds lists in warnings.
const maxListed = 3

// maxShown bounds the length of one value in them.
const maxShown = 200

// fields are what a run was made with, by their names.
type fields map[string]string

// profileFields are those of the resolved profile, with the defaults of fields that
// are newer than the result; none if it cannot be read.
func profileFields(r *result.Result) fields {
	data, p := []byte(r.Profile), profiles.Default()
	if json.Unmarshal(data, &p) == nil {
		if whole, err := json.Marshal(&p); err == nil {
			data = whole
		}
	}
	found, err := experiment.Leaves(data)
	if err != nil {
		return nil
	}
	return found
}

// environmentFields are what may change the numbers; the times and names of runs
// are not among them. What the profile has under target.env is not repeated.
func environmentFields(r *result.Result, profile fields) fields {
	e := r.Environment
	if e == nil {
		return nil
	}
	found := fields{
		"target": e.Target, "os": e.OS, "kernel": e.Kernel, "cpuModel": e.CPUModel,
		"cpus": strconv.Itoa(e.CPUs), "gomaxprocs": strconv.Itoa(e.GOMAXPROCS),
		"memory": units.Bytes(e.Memory), "transport": e.Transport,
	}
	for name, version := range e.Versions {
		found["versions."+name] = version
	}
	for name, value := range e.TargetEnv {
		if _, ok := profile["target.env."+name]; !ok && name != "PATH" && name != "HOME" {
			found["targetEnv."+name] = value
		}
	}
	return found
}

func ofProfile(r Run) fields     { return r.profile }
func ofEnvironment(r Run) fields { return r.environment }

// profileDifferences lists the fields of the profile in which the sets differ.
func profileDifferences(before, after *Set) []Difference {
	return differing(before, after, ofProfile)
}

// environmentDifferences does so of the environment, but for what one side's profile
// sets: that is a difference of the profiles.
func environmentDifferences(before, after *Set) []Difference {
	set := func(d Difference) bool {
		name, ok := strings.CutPrefix(d.Field, "targetEnv.")
		return ok && slices.ContainsFunc(slices.Concat(before.Runs, after.Runs), func(r Run) bool {
			_, inProfile := r.profile["target.env."+name]
			return inProfile
		})
	}
	return slices.DeleteFunc(differing(before, after, ofEnvironment), set)
}

// differing lists the fields whose values are not the same in both sets.
func differing(before, after *Set, of func(Run) fields) []Difference {
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
		return []string{string(absent)}
	}
	return values
}

// valuesByField lists the different values that each field has in a set.
func valuesByField(s *Set, of func(Run) fields) map[string][]string {
	values := make(map[string][]string)
	for _, run := range s.Runs {
		for name := range of(run) {
			values[name] = nil
		}
	}
	for name := range values {
		for _, run := range s.Runs {
			value, ok := of(run)[name]
			if !ok {
				value = string(absent)
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
	if cut := len(s.Runs) - s.samples(); cut > 0 {
		found = append(found, fmt.Sprintf("%d of %d %s runs failed or were cut short, and are left out", cut, len(s.Runs), side))
	}
	if bad := questionable(s); len(bad) > 0 {
		found = append(found, fmt.Sprintf("%d of %d %s runs are questionable: %s", len(bad), len(s.Runs), side, listed(bad)))
	}
	for _, part := range []struct {
		what string
		of   func(Run) fields
	}{{"profiles", ofProfile}, {"environments", ofEnvironment}} {
		if mixed := mixedFields(s, part.of); len(mixed) > 0 {
			found = append(found, fmt.Sprintf("the %s runs are not repeats of one another: their %s differ in %s", side, part.what, strings.Join(mixed, "; ")))
		}
	}
	if twice := repeated(s); len(twice) > 0 {
		found = append(found, fmt.Sprintf("the %s runs hold copies of one run (%s), which count as if they were repeats", side, strings.Join(twice, ", ")))
	}
	return found
}

// mixedFields lists the fields in which the runs of a set differ. Repeats may
// have seeds of their own.
func mixedFields(s *Set, of func(Run) fields) []string {
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
		if id := run.id(); id != "" {
			if seen[id]++; seen[id] == 2 {
				twice = append(twice, id)
			}
		}
	}
	return twice
}

// questionable names the runs that should not be trusted, and why.
func questionable(s *Set) []string {
	var which []string
	for _, run := range s.Runs {
		if verdict.Of(run.Result) != verdict.Passed {
			which = append(which, fmt.Sprintf("%s (%s)", run.Path, strings.Join(run.Result.Reasons, "; ")))
		}
	}
	return which
}

// listed joins the first few of a list.
func listed(all []string) string {
	shown := make([]string, min(len(all), maxListed))
	for i := range shown {
		shown[i] = all[i]
		if n := len(shown[i]); n > maxShown { // the text of a file
			shown[i] = fmt.Sprintf("%.*s... (%d bytes)", maxShown/2, shown[i], n)
		}
	}
	if len(all) <= maxListed {
		return strings.Join(shown, ", ")
	}
	return strings.Join(shown, ", ") + fmt.Sprintf(" and %d more", len(all)-maxListed)
}
