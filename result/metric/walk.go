package metric

import (
	"reflect"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/result"
)

// The units of numbers; those without one have "".
const (
	unitSeconds = "s"
	unitBytes   = "bytes"
	// noUnit is the tag of a field that has no unit although its parent has one.
	noUnit = "-"
)

// anyKey stands in the names of metrics for the key of a map, such as a type of xDS
// resource.
const anyKey = "*"

// Value is one number of one result.
type Value struct {
	// Name is as in SLOs, with the keys of maps filled in.
	Name string
	// Unit is "s", "bytes" or empty.
	Unit   string
	Number float64
	// Note qualifies Number: "max of 60" of a quantile of too few samples.
	Note string
	// MayOmit says that result files leave the number out where it is zero.
	MayOmit bool
}

// Values lists every number of the result, in the order of their names. True is 1.
func Values(r *result.Result) []Value {
	return numbers(reflect.TypeFor[*result.Result](), reflect.ValueOf(r))
}

// Names lists the metrics that an SLO may limit. A "*" stands for any key, as in
// "volume.byType.*.bytes".
func Names() []string {
	var names []string
	for _, m := range schema() {
		names = append(names, m.Name)
	}
	return names
}

// schema lists every number that a result can hold.
func schema() []Value { return numbers(reflect.TypeFor[result.Result](), reflect.Value{}) }

func numbers(t reflect.Type, v reflect.Value) []Value {
	var all []Value
	walk(t, v, Value{}, func(x Value) { all = append(all, x) })
	slices.SortFunc(all, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// walk visits the numbers at and below a place whose name and unit are those of at:
// those that v has or, if v is the zero Value, all those that one of type t can have.
func walk(t reflect.Type, v reflect.Value, at Value, visit func(Value)) {
	given := v.IsValid()
	switch t.Kind() {
	case reflect.Pointer:
		switch {
		case !given:
			walk(t.Elem(), v, at, visit)
		case !v.IsNil():
			walk(t.Elem(), v.Elem(), at, visit)
		}
	case reflect.Map:
		if !given {
			walk(t.Elem(), v, at.child(anyKey), visit)
			return
		}
		for key, element := range v.Seq2() {
			walk(t.Elem(), element, at.child(key.String()), visit)
		}
	case reflect.Struct:
		for f := range t.Fields() {
			inner := v
			if given {
				inner = v.FieldByIndex(f.Index)
			}
			if below, ok := at.field(f); ok {
				below.Note = mark(v, below.Name)
				walk(f.Type, inner, below, visit)
			}
		}
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		if given {
			at.Number = number(v)
		}
		visit(at)
	default: // text and lists are no metrics
	}
}

// mark is what the struct v, if it is one of quantiles, says of the field at the end of
// a name.
func mark(v reflect.Value, name string) string {
	if !v.CanAddr() { // as the zero Value is not
		return ""
	}
	if m, ok := reflect.TypeAssert[interface{ Mark(field string) string }](v.Addr()); ok {
		return m.Mark(name[strings.LastIndexByte(name, '.')+1:])
	}
	return ""
}

func number(v reflect.Value) float64 {
	if v.Kind() != reflect.Bool {
		return v.Convert(reflect.TypeFor[float64]()).Float()
	}
	if v.Bool() {
		return 1
	}
	return 0
}

// child is the place below this one that a name or a key leads to.
func (v Value) child(name string) Value {
	switch {
	case name == "":
		name = v.Name
	case v.Name != "":
		name = v.Name + "." + name
	}
	return Value{Name: name, Unit: v.Unit}
}

// field is the place of a field below this one; false if it is not in the JSON.
func (v Value) field(f reflect.StructField) (Value, bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" || !f.IsExported() {
		return Value{}, false
	}
	if name == "" && !f.Anonymous { // the fields of an embedded struct stand in its parent
		name = f.Name
	}
	below := v.child(name)
	below.MayOmit = strings.Contains(options, "omitempty") && f.Type.Kind() != reflect.Pointer
	switch own := f.Tag.Get("unit"); {
	case own == noUnit, f.Type.Kind() == reflect.Bool, f.Name == "Count" && f.Type == reflect.TypeFor[int64]():
		below.Unit = ""
	case own != "":
		below.Unit = own
	}
	return below, true
}

// Exists reports whether a name means metrics of results. A "*" in it stands for any
// one part between dots, and a last one for all the rest.
func Exists(name string) bool {
	return slices.ContainsFunc(schema(), func(m Value) bool { return Match(name, m.Name) || Match(m.Name, name) })
}

// Match reports whether a pattern, such as a name that Exists holds for, means this
// metric. A "*" stands for any one part between dots, and a last one for all the
// rest: the names of Prometheus series may contain dots.
func Match(pattern, name string) bool {
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
