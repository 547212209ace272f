package metric

import (
	"github.com/xdsbench/xdsbench/result"
	"reflect"
	"slices"
	"strings"
)

// Value is one number of one result.
type Value struct {
	// Name is as in SLOs, with the keys of maps filled in.
	Name string
	// Unit is "s", "bytes" or empty.
	Unit   string
	Number float64
	// MayOmit says that result files leave the number out where it is zero.
	MayOmit bool
}

// Values lists every number of the result, in the order of their names. True is 1.
func Values(r *result.Result) []Value {
	var all []Value
	each(reflect.ValueOf(r), Value{}, func(v Value) { all = append(all, v) })
	slices.SortFunc(all, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// each visits the numbers below v, whose path and unit are those of at.
func each(v reflect.Value, at Value, visit func(Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			each(v.Elem(), at, visit)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			each(v.MapIndex(key), Value{Name: join(at.Name, key.String()), Unit: at.Unit}, visit)
		}
	case reflect.Struct:
		for f, inner := range v.Fields() {
			if below, ok := at.below(f); ok {
				each(inner, below, visit)
			}
		}
	default:
		if v.Kind() == reflect.Bool {
			at.Unit = string(unitNone)
		}
		if x, ok := resolve(v, ""); ok {
			at.Number = x
			visit(at)
		}
	}
}

// below returns the path and unit of a field; false if it is not in the JSON.
func (v Value) below(f reflect.StructField) (Value, bool) {
	name, own, ok := field(f)
	if !ok {
		return Value{}, false
	}
	if own == unitNone {
		own = unit(v.Unit)
	}
	if own == noUnit || f.Type == reflect.TypeFor[int64]() && f.Name == "Count" {
		own = unitNone
	}
	omits := strings.Contains(f.Tag.Get("json"), ",omitempty")
	return Value{Name: join(v.Name, name), Unit: string(own), MayOmit: omits}, true
}

// IsMetric reports whether a name means metrics of results. A "*" in it stands
// for any one part between dots, and a last one for all the rest.
func Exists(name string) bool {
	return slices.ContainsFunc(allMetrics(), func(m metric) bool {
		return matches(name, m.name) || matches(m.name, name)
	})
}

// MatchMetric reports whether a name that IsMetric holds for means this metric.
func Match(pattern, name string) bool { return matches(pattern, name) }
