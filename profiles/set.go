package profiles

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// set lays one setting, such as "churn[0].rate=5/s", over a decoded profile.
// An index one past the end of a list adds an element.
func set(tree map[string]any, setting string) error {
	field, text, ok := strings.Cut(setting, "=")
	if !ok || field == "" {
		return fmt.Errorf("--set %q: want field=value, such as mesh.services=500", setting)
	}
	steps, err := parsePath(field)
	if err != nil {
		return fmt.Errorf("--set %q: %w", setting, err)
	}
	var value any = text
	if !isText(reflect.TypeFor[Profile](), steps) {
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			value = text
		}
	}
	if _, err := assign(tree, steps, value); err != nil {
		return fmt.Errorf("--set %q: %w", setting, err)
	}
	return nil
}

// step is a field name or, where name is empty, an index into a list.
type step struct {
	name  string
	index int
}

// parsePath splits "a.b[2].c". A part below target.env or slo may itself hold
// dots (an SLO's metric does), so everything after "slo." is one name.
func parsePath(field string) ([]step, error) {
	if metric, ok := strings.CutPrefix(field, "slo."); ok {
		return []step{{name: "slo"}, {name: metric}}, nil
	}
	var steps []step
	for part := range strings.SplitSeq(field, ".") {
		name, rest, _ := strings.Cut(part, "[")
		if name == "" {
			return nil, fmt.Errorf("field %q has an empty part", field)
		}
		steps = append(steps, step{name: name})
		for rest != "" {
			number, after, closed := strings.Cut(rest, "]")
			i, err := strconv.Atoi(number)
			if !closed || err != nil || i < 0 {
				return nil, fmt.Errorf("field %q: want an index such as churn[0]", field)
			}
			steps = append(steps, step{index: i})
			rest = strings.TrimPrefix(after, "[")
		}
	}
	return steps, nil
}

// isText reports whether the field at the end of steps holds text, so that a
// value such as "{service}" is not taken for YAML.
func isText(t reflect.Type, steps []step) bool {
	for _, s := range steps {
		switch {
		case t.Kind() == reflect.Slice && s.name == "", t.Kind() == reflect.Map && s.name != "":
			t = t.Elem()
		case t.Kind() == reflect.Struct && s.name != "":
			f, ok := fieldNamed(t, s.name)
			if !ok {
				return false
			}
			t = f
		default:
			return false
		}
	}
	return t.Kind() == reflect.String
}

// fieldNamed returns the type of the struct's field with this JSON name.
func fieldNamed(t reflect.Type, name string) (reflect.Type, bool) {
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f.Type, true
		}
	}
	return nil, false
}

// assign returns node with the value put at the end of steps.
func assign(node any, steps []step, value any) (any, error) {
	if len(steps) == 0 {
		return value, nil
	}
	s := steps[0]
	if s.name == "" {
		return assignIndex(node, s.index, steps[1:], value)
	}
	fields, ok := node.(map[string]any)
	if node == nil {
		fields, ok = map[string]any{}, true
	}
	if !ok {
		return nil, fmt.Errorf("%q is below a plain value", s.name)
	}
	child, err := assign(fields[s.name], steps[1:], value)
	if err != nil {
		return nil, err
	}
	fields[s.name] = child
	return fields, nil
}

func assignIndex(node any, index int, rest []step, value any) (any, error) {
	list, ok := node.([]any)
	if node != nil && !ok {
		return nil, fmt.Errorf("[%d] is not below a list", index)
	}
	if index > len(list) {
		return nil, fmt.Errorf("index %d is past the end of a list of %d", index, len(list))
	}
	if index == len(list) {
		list = append(list, nil)
	}
	child, err := assign(list[index], rest, value)
	if err != nil {
		return nil, err
	}
	list[index] = child
	return list, nil
}
