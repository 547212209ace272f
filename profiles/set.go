package profiles

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// set lays one setting, such as "churn[0].rate=5/s", over a decoded profile, and
// returns the path of its field. An index one past the end of a list adds an
// element. An error begins with the path, and has a line per problem.
func set(tree map[string]any, setting string) (path string, err error) {
	path, text, ok := strings.Cut(setting, "=")
	if !ok || path == "" {
		return "", fmt.Errorf("--set %q: not of the form field=value, such as mesh.services=500", setting)
	}
	f, err := fieldAt(path)
	if err != nil {
		return path, err
	}
	var value any = text
	if f.typ.Kind() != reflect.String {
		value, err = readValue(path, f.typ, text)
		if err != nil {
			return path, err
		}
	}
	if _, err := assign(tree, f.steps, value); err != nil {
		return path, fmt.Errorf("%s: %w", path, err)
	}
	return path, nil
}

// readValue reads the value of a field that is not text. The error has a line per
// problem.
func readValue(path string, t reflect.Type, text string) (any, error) {
	var value any
	var node yamlv3.Node
	if yamlv3.Unmarshal([]byte(text), &node) != nil || decode(&node, &value) != nil {
		// It is not YAML, such as "{service}:": the check says what is wanted.
		node = yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: text}
	}
	c := newChecker(false)
	c.value(path, t, &node)
	clears := t.Kind() == reflect.Pointer || t.Kind() == reflect.Map || t.Kind() == reflect.Slice
	if isNull(resolve(&node)) && !clears {
		return nil, fmt.Errorf("%s: no value given", path)
	}
	return value, errors.Join(c.errs...)
}

// assign returns node with the value put at the end of steps, in place of whatever
// is in the way.
func assign(node any, steps []step, value any) (any, error) {
	if len(steps) == 0 {
		return value, nil
	}
	s := steps[0]
	if s.name == "" {
		return assignIndex(node, s.index, steps[1:], value)
	}
	fields, ok := node.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	child, err := assign(fields[s.name], steps[1:], value)
	if err != nil {
		return nil, err
	}
	fields[s.name] = child
	return fields, nil
}

func assignIndex(node any, index int, rest []step, value any) (any, error) {
	list, _ := node.([]any)
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
