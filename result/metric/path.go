package metric

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/result"
)

// unit is what a number in a result measures.
type unit string

const (
	unitNone    unit = ""
	unitSeconds unit = "s"
	unitBytes   unit = "bytes"
	// noUnit is the tag of a field that has no unit although its parent has one.
	noUnit unit = "-"
)

// anyKey stands in metric names for the key of a map, such as a type of xDS
// resource.
const anyKey = "*"

// metric is one number that a result can hold.
type metric struct {
	name string // with anyKey for the keys of maps
	unit unit
}

// allMetrics lists every number and yes-or-no in a Result, by its path of JSON names.
func allMetrics() []metric {
	var found []metric
	walk(reflect.TypeFor[result.Result](), "", unitNone, func(m metric) { found = append(found, m) })
	slices.SortFunc(found, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	return found
}

// MetricNames lists the metrics that an SLO may limit. A "*" stands for any key,
// as in "volume.byType.*.bytes".
func Names() []string {
	var names []string
	for _, m := range allMetrics() {
		names = append(names, m.name)
	}
	return names
}

func walk(t reflect.Type, path string, u unit, found func(metric)) {
	switch t.Kind() {
	case reflect.Pointer:
		walk(t.Elem(), path, u, found)
	case reflect.Map:
		walk(t.Elem(), join(path, anyKey), u, found)
	case reflect.Struct:
		for f := range t.Fields() {
			name, own, ok := field(f)
			if !ok {
				continue
			}
			if own == unitNone {
				own = u
			}
			if own == noUnit || f.Type == reflect.TypeFor[int64]() && f.Name == "Count" {
				own = unitNone
			}
			walk(f.Type, join(path, name), own, found)
		}
	case reflect.Bool:
		found(metric{name: path})
	case reflect.Int, reflect.Int64, reflect.Float64:
		found(metric{name: path, unit: u})
	default: // text and lists are no metrics
	}
}

// field returns the JSON name of a field (empty if its fields stand in its
// parent) and its unit; false if it is not in the JSON.
func field(f reflect.StructField) (name string, u unit, ok bool) {
	name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" || !f.IsExported() {
		return "", unitNone, false
	}
	if name == "" && !f.Anonymous {
		name = f.Name
	}
	return name, unit(f.Tag.Get("unit")), true
}

func join(path, name string) string {
	switch {
	case name == "":
		return path
	case path == "":
		return name
	}
	return path + "." + name
}

// lookUp finds the metric that a name means.
func lookUp(name string) (metric, error) {
	for _, m := range allMetrics() {
		if matches(m.name, name) {
			return m, nil
		}
	}
	if now, ok := result.RenamedMetric(name); ok {
		return metric{}, fmt.Errorf("%q is now called %q", name, now)
	}
	return metric{}, fmt.Errorf("%q is not a metric; valid are %s", name, strings.Join(Names(), ", "))
}

// matches compares a name with a pattern. A last "*" stands for all the rest:
// the names of Prometheus series may contain dots.
func matches(pattern, name string) bool {
	for pattern != "" {
		want, restOfPattern, _ := strings.Cut(pattern, ".")
		have, rest, _ := strings.Cut(name, ".")
		if have == "" || (want != anyKey && want != have) {
			return false
		}
		if want == anyKey && restOfPattern == "" {
			return true
		}
		pattern, name = restOfPattern, rest
	}
	return name == ""
}

// valueOf returns a metric of the result; false if the result does not have it.
func valueOf(r *result.Result, name string) (float64, bool) {
	return resolve(reflect.ValueOf(r), name)
}

func resolve(v reflect.Value, path string) (float64, bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return 0, false
		}
		return resolve(v.Elem(), path)
	case reflect.Map:
		key, rest, _ := strings.Cut(path, ".")
		switch v.Type().Elem().Kind() {
		case reflect.Int, reflect.Int64, reflect.Float64:
			key, rest = path, ""
		default:
		}
		e := v.MapIndex(reflect.ValueOf(key))
		return resolve(e, rest)
	case reflect.Struct:
		return resolveField(v, path)
	case reflect.Bool:
		if v.Bool() {
			return 1, path == ""
		}
		return 0, path == ""
	case reflect.Int, reflect.Int64:
		return float64(v.Int()), path == ""
	case reflect.Float64:
		return v.Float(), path == ""
	default: // text, lists, and what the result does not have
		return 0, false
	}
}

func resolveField(v reflect.Value, path string) (float64, bool) {
	head, rest, _ := strings.Cut(path, ".")
	for f, value := range v.Fields() {
		name, _, ok := field(f)
		switch {
		case !ok:
		case name == "":
			if x, found := resolve(value, path); found {
				return x, true
			}
		case name == head:
			return resolve(value, rest)
		}
	}
	return 0, false
}
