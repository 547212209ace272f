// Package env reads settings from environment variables.
package env

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Setters assign the values of variables, by the variables' names.
type Setters map[string]func(value string) error

// Read assigns every variable of env whose name has the prefix. The error joins
// all problems, each with the name and value of its variable; unknown decides
// whether a variable without a setter is a problem.
func (s Setters) Read(env map[string]string, prefix string, unknown func(name, value string) error) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		set, known := s[name]
		if !known {
			problems = append(problems, unknown(name, env[name]))
		} else if err := set(env[name]); err != nil {
			problems = append(problems, fmt.Errorf("%s=%q: %w", name, env[name], err))
		}
	}
	return errors.Join(problems...)
}

// Var returns a setter of target. Its error for values that do not parse or are
// not valid is "must be " and want.
func Var[T any](target *T, parse func(string) (T, error), valid func(T) bool, want string) func(string) error {
	return func(value string) error {
		parsed, err := parse(value)
		if err != nil || !valid(parsed) {
			return errors.New("must be " + want)
		}
		*target = parsed
		return nil
	}
}

// Any accepts every value that parses.
func Any[T any](T) bool { return true }

// AtLeast accepts values from low on.
func AtLeast[T cmp.Ordered](low T) func(T) bool {
	return func(v T) bool { return v >= low }
}

// Between accepts values from low to high, and no NaN.
func Between[T cmp.Ordered](low, high T) func(T) bool {
	return func(v T) bool { return v >= low && v <= high }
}
