package compare

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/result/metric"
)

// The defaults of Options.
const (
	DefaultAlpha     = 0.05
	DefaultThreshold = 0.05
)

// Options say what to compare, and what a regression is.
type Options struct {
	// Metrics restrict the comparison to these, which then decide, each with a
	// direction; a "*" stands for any part of a name.
	Metrics []string
	// All shows every metric, not only the usual ones.
	All bool
	// Alpha is the level of significance.
	Alpha float64
	// Threshold is the change, relative to the old median, beyond which a
	// significant one in the worse direction is a regression.
	Threshold float64
	// AllowDifferentLoad compares sets of runs that were not under the same load.
	AllowDifferentLoad bool

	thresholds []metricThreshold // of single metrics, which then decide
}

// metricThreshold is the threshold of the metrics that a pattern names.
type metricThreshold struct {
	pattern string
	limit   float64
}

// ParseThresholds reads "5%", the threshold of all metrics, and "NAME=5%", that
// of one.
func (o *Options) ParseThresholds(texts []string) error {
	var errs []error
	for _, text := range texts {
		name, limit := "", text
		if i := strings.LastIndex(text, "="); i >= 0 {
			name, limit = text[:i], text[i+1:]
		}
		x, err := parsePercent(limit)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("--threshold %q: want a percentage such as 5%%, or NAME=5%%", text))
		case name == "" && limit != text:
			errs = append(errs, fmt.Errorf("--threshold %q: the metric has no name", text))
		case name == "":
			o.Threshold = x
		default:
			o.thresholds = append(o.thresholds, metricThreshold{name, x})
		}
	}
	return errors.Join(errs...)
}

func parsePercent(text string) (float64, error) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err == nil && (!ok || !(x >= 0 && x < 1e9)) {
		err = strconv.ErrRange
	}
	return x / 100, err
}

// Validate reports every impossible value.
func (o *Options) Validate() error {
	var errs []error
	if !(o.Alpha > 0 && o.Alpha < 1) {
		errs = append(errs, fmt.Errorf("--alpha %v: must be between 0 and 1, such as 0.05", o.Alpha))
	}
	for _, m := range o.Metrics {
		errs = append(errs, checkName("--metric", m))
	}
	for _, t := range o.thresholds {
		errs = append(errs, checkName("--threshold", t.pattern))
	}
	return errors.Join(errs...)
}

// checkName reports a name that means no metric.
func checkName(flag, pattern string) error {
	if pattern == contradictions || pattern == neverReady || metric.Exists(pattern) {
		return nil
	}
	return fmt.Errorf("%s: %q is not a metric: docs/metrics.md lists all, and --all shows those of two results", flag, pattern)
}

// named reports whether --metric means this metric.
func (o *Options) named(name string) bool {
	for _, pattern := range o.Metrics {
		if metric.Match(pattern, name) {
			return true
		}
	}
	return false
}

// threshold returns that of a metric, and whether it has one of its own. Of
// several that match, the last holds.
func (o *Options) threshold(name string) (limit float64, own bool) {
	limit = o.Threshold
	for _, t := range o.thresholds {
		if metric.Match(t.pattern, name) {
			limit, own = t.limit, true
		}
	}
	return limit, own
}
