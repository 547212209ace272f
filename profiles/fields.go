package profiles

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Role says what a field of a profile is to whoever compares runs. Each field
// declares its own, in a struct tag.
type Role string

// The roles of fields.
const (
	// RoleLoad marks what is asked of the control plane, and how it is observed.
	// Runs that differ in it did different work: neither is better.
	RoleLoad Role = "load"
	// RoleSetting marks how the control plane is run, and what does not change the
	// load. Runs that differ in it are alternatives to choose from.
	RoleSetting Role = "setting"
)

// RoleOf returns the role of a field, named as in --set, such as "proxies.count",
// or "rate" (see [Profile.With]). A field that holds others is RoleLoad if any of
// them is. It is "" for a field that does not exist.
func RoleOf(path string) Role {
	if path == "rate" {
		return RoleLoad
	}
	f, err := fieldAt(path)
	if err != nil {
		return ""
	}
	return f.role
}

// step is a field name or, where name is empty, an index into a list.
type step struct {
	name  string
	index int
}

// field is a place in a profile.
type field struct {
	steps []step
	typ   reflect.Type
	role  Role
}

// fieldAt finds "a.b[2].c". What follows a map's name is one key, since keys may
// hold dots, as the metric of an SLO does. An error begins with the path.
func fieldAt(path string) (field, error) {
	f := field{typ: reflect.TypeFor[Profile]()}
	for rest := path; ; {
		done := strings.TrimSuffix(path[:len(path)-len(rest)], ".")
		f.typ = pointee(f.typ)
		var name string
		switch {
		case f.typ.Kind() == reflect.Map:
			name, rest = rest, ""
			f.typ = f.typ.Elem()
		case holdsFields(f.typ):
			end := strings.IndexAny(rest+".", ".[")
			name, rest = rest[:end], rest[end:]
			inner, ok := fieldNamed(f.typ, name)
			if !ok {
				return field{}, fmt.Errorf("%s: %s", join(done, name), unknownField(f.typ, done, name))
			}
			f.typ, f.role = inner.Type, roleIn(inner)
		default:
			return field{}, fmt.Errorf("%s: unknown field: %s is a plain value, with no fields below it", path, done)
		}
		f.steps = append(f.steps, step{name: name})
		for strings.HasPrefix(rest, "[") {
			number, after, closed := strings.Cut(rest[1:], "]")
			i, err := strconv.Atoi(number)
			if !closed || err != nil || i < 0 || f.typ.Kind() != reflect.Slice {
				return field{}, fmt.Errorf("%s: %s is not an index into a list, as in churn[0].rate", path, rest)
			}
			f.steps, f.typ, rest = append(f.steps, step{index: i}), f.typ.Elem(), after
		}
		if rest == "" {
			return f, nil
		}
		below, ok := strings.CutPrefix(rest, ".")
		if !ok || below == "" {
			return field{}, fmt.Errorf("%s: %q does not follow a field, as in churn[0].rate", path, rest)
		}
		rest = below
	}
}

// roleIn returns what the field's tag says, or what the fields below it do.
func roleIn(f reflect.StructField) Role {
	role := Role(f.Tag.Get("role"))
	t := pointee(f.Type)
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if role != "" || !holdsFields(t) {
		return role
	}
	for inner := range t.Fields() {
		if role = roleIn(inner); role == RoleLoad {
			break
		}
	}
	return role
}

// pointee returns the type itself, or what it points to.
func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// holdsFields reports whether a type is a struct with fields of a profile. A
// duration is a struct without.
func holdsFields(t reflect.Type) bool { return t.Kind() == reflect.Struct && len(names(t)) > 0 }

// names lists the fields of a struct by their names in a profile.
func names(t reflect.Type) []string {
	var all []string
	for f := range t.Fields() {
		if name := jsonName(f); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// fieldNamed returns the struct's field with this JSON name.
func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if jsonName(f) == name && name != "" {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// unknownField says what may be meant by a name that the struct at path does not
// have.
func unknownField(t reflect.Type, path, name string) string {
	if best := nearest(name, names(t)); best != "" {
		return "unknown field: did you mean " + join(path, best) + "?"
	}
	if elsewhere := find(reflect.TypeFor[Profile](), "", name); elsewhere != "" {
		return "unknown field: did you mean " + elsewhere + "?"
	}
	return "unknown field: there are " + strings.Join(names(t), ", ")
}

// join puts a field's name behind the path of what holds it.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// find returns the first path below t that ends in the name, "" if there is none.
func find(t reflect.Type, path, name string) string {
	for f := range t.Fields() {
		below, inner := join(path, jsonName(f)), pointee(f.Type)
		if jsonName(f) == name {
			return below
		}
		if inner.Kind() == reflect.Slice {
			below, inner = below+"[0]", inner.Elem()
		}
		if !holdsFields(inner) {
			continue
		}
		if found := find(inner, below, name); found != "" {
			return found
		}
	}
	return ""
}

// nearest returns the known name that a misspelled one most likely stands for, ""
// if none is near.
func nearest(name string, known []string) string {
	best, least := "", min(3, 1+len(name)/3)
	for _, k := range known {
		if len(name) > 2 && strings.HasPrefix(strings.ToLower(k), strings.ToLower(name)) {
			return k
		}
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d < least || d == least && best == "" {
			best, least = k, d
		}
	}
	return best
}

// editDistance is Levenshtein's: how many bytes to insert, delete or replace.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = slices.Min([]int{diagonal, row[j], row[j+1]}) + 1
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
