package metric

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xdsbench/xdsbench/result"
)

// Validate reports every metric that does not exist and every limit that cannot be
// read. A limit is a number, a duration ("250ms") for a metric in seconds, or a size
// ("10MB", "16MiB") for one in bytes. The value may be at most the limit; a limit
// that begins with ">=" is a lower one.
func Validate(slo map[string]string) error {
	_, err := parse(slo)
	return err
}

// Evaluate compares a result with limits, in the order of the metrics' names.
func Evaluate(r *result.Result, slo map[string]string) ([]result.SLO, error) {
	limits, err := parse(slo)
	if err != nil {
		return nil, err
	}
	values := make(map[string]Value)
	for _, v := range Values(r) {
		values[v.Name] = v
	}
	var verdicts []result.SLO
	for _, l := range limits {
		verdict := result.SLO{Metric: l.metric, Limit: slo[l.metric], Unit: l.unit}
		if value, ok := values[l.metric]; ok {
			verdict.Value, verdict.Note = &value.Number, value.Note
			verdict.Pass = l.holds(value.Number)
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

// ParseLimit reads a limit of an SLO on this metric, in the metric's unit: seconds,
// bytes or none. lower is true if it bounds from below.
func ParseLimit(metric, text string) (bound float64, lower bool, err error) {
	l, err := parseLimit(metric, text)
	return l.bound, l.lower, err
}

// limit is a bound on a metric, by default an upper one.
type limit struct {
	metric, unit string
	bound        float64
	lower        bool
}

func (l limit) holds(value float64) bool {
	if l.lower {
		return value >= l.bound
	}
	return value <= l.bound
}

// parse reads limits by their metrics, in the order of these. The error lists every
// problem.
func parse(slo map[string]string) ([]limit, error) {
	var limits []limit
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(slo)) {
		l, err := parseLimit(name, slo[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("slo.%s: %w", name, err))
		}
		limits = append(limits, l)
	}
	return limits, errors.Join(errs...)
}

func parseLimit(name, text string) (limit, error) {
	m, err := lookUp(name)
	if err != nil {
		return limit{}, err
	}
	l := limit{metric: name, unit: m.Unit}
	number := strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(number, ">="); ok {
		l.lower, number = true, strings.TrimSpace(rest)
	} else if rest, ok := strings.CutPrefix(number, "<="); ok {
		number = strings.TrimSpace(rest)
	}
	l.bound, err = strconv.ParseFloat(number, 64)
	if err == nil && !math.IsNaN(l.bound) && !math.IsInf(l.bound, 0) {
		return l, nil
	}
	want := "a number"
	switch l.unit {
	case unitSeconds:
		var d time.Duration
		d, err = time.ParseDuration(number)
		l.bound, want = d.Seconds(), "a duration such as 250ms or 2s"
	case unitBytes:
		l.bound, err = parseSize(number)
		want = "a size such as 500kB, 10MB or 16MiB"
	default:
		err = strconv.ErrSyntax
	}
	if err != nil {
		return l, fmt.Errorf("limit %q: want %s", text, want)
	}
	return l, nil
}

// lookUp finds the metric that a name means.
func lookUp(name string) (Value, error) {
	for _, m := range schema() {
		if Match(m.Name, name) {
			return m, nil
		}
	}
	if now, ok := result.RenamedMetric(name); ok {
		return Value{}, fmt.Errorf("%q is now called %q", name, now)
	}
	return Value{}, fmt.Errorf("%q is not a metric; valid are %s", name, strings.Join(Names(), ", "))
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
