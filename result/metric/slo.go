package metric

import (
	"errors"
	"fmt"
	"github.com/xdsbench/xdsbench/result"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ValidateSLO reports every metric that does not exist and every limit that
// cannot be read. A limit is a number, a duration ("250ms") for a metric in
// seconds, or a size ("10MB", "16MiB") for one in bytes. The value may be at
// most the limit; a limit that begins with ">=" is a lower one.
func Validate(slo map[string]string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(slo)) {
		m, err := lookUp(name)
		if err == nil {
			_, err = parseLimit(slo[name], m.unit)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("slo.%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// EvaluateSLO compares a result with limits, in the order of the metrics' names.
func Evaluate(r *result.Result, slo map[string]string) ([]result.SLO, error) {
	if err := Validate(slo); err != nil {
		return nil, err
	}
	var verdicts []result.SLO
	for _, name := range slices.Sorted(maps.Keys(slo)) {
		m, err := lookUp(name)
		if err != nil {
			return nil, err
		}
		limit, err := parseLimit(slo[name], m.unit)
		if err != nil {
			return nil, err
		}
		verdict := result.SLO{Metric: name, Limit: slo[name], Unit: string(m.unit)}
		if value, ok := valueOf(r, name); ok {
			verdict.Value = &value
			verdict.Pass = limit.holds(value)
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

// limit is a bound, by default an upper one.
type limit struct {
	bound float64
	lower bool
}

func (l limit) holds(value float64) bool {
	if l.lower {
		return value >= l.bound
	}
	return value <= l.bound
}

func parseLimit(text string, u unit) (limit, error) {
	var l limit
	number := strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(number, ">="); ok {
		l.lower, number = true, strings.TrimSpace(rest)
	} else if rest, ok := strings.CutPrefix(number, "<="); ok {
		number = strings.TrimSpace(rest)
	}
	bound, err := strconv.ParseFloat(number, 64)
	switch {
	case err == nil && !math.IsNaN(bound) && !math.IsInf(bound, 0):
		l.bound = bound
		return l, nil
	case u == unitSeconds:
		d, err := time.ParseDuration(number)
		l.bound = d.Seconds()
		if err == nil {
			return l, nil
		}
		return l, fmt.Errorf("limit %q: want a duration such as 250ms or 2s", text)
	case u == unitBytes:
		if l.bound, err = parseSize(number); err == nil {
			return l, nil
		}
		return l, fmt.Errorf("limit %q: want a size such as 500kB, 10MB or 16MiB", text)
	}
	return l, fmt.Errorf("limit %q: want a number", text)
}

// parseSize reads a number of bytes with a decimal or binary unit.
func parseSize(text string) (float64, error) {
	for _, s := range []struct {
		suffix string
		factor float64
	}{
		{"KiB", 1 << 10},
		{"MiB", 1 << 20},
		{"GiB", 1 << 30},
		{"kB", 1e3},
		{"KB", 1e3},
		{"MB", 1e6},
		{"GB", 1e9},
		{"B", 1},
	} {
		if number, ok := strings.CutSuffix(text, s.suffix); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			return n * s.factor, err
		}
	}
	return 0, fmt.Errorf("size %q: no unit", text)
}

// ParseLimit reads a limit of an SLO on this metric, in the metric's unit: seconds,
// bytes or none. lower is true if it bounds from below.
func ParseLimit(metric, text string) (bound float64, lower bool, err error) {
	m, err := lookUp(metric)
	if err != nil {
		return 0, false, err
	}
	l, err := parseLimit(text, m.unit)
	return l.bound, l.lower, err
}
