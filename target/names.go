package target

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// validateMetricNames checks the section metricNames.
func (s Spec) validateMetricNames() error {
	if len(s.MetricNames) == 0 {
		return nil
	}
	var errs []error
	if s.knownKind() && s.Kind != KindExec && s.Kind != KindExternal {
		errs = append(errs, fmt.Errorf("target.metricNames: only kind exec or external uses it, and the kind is %s: leave it out", s.Kind))
	}
	valid := regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	for _, istio := range slices.Sorted(maps.Keys(s.MetricNames)) {
		if theirs := s.MetricNames[istio]; !valid.MatchString(istio) || !valid.MatchString(theirs) {
			errs = append(errs, fmt.Errorf("target.metricNames.%s: %q: both must be names of Prometheus metrics, such as pilot_xds: connected_clients", istio, theirs))
		}
	}
	return errors.Join(errs...)
}

// rename gives the metrics of a scrape the names that istiod's have, by the
// target's own names of them. The series of a histogram or summary go along.
func rename(text []byte, names map[string]string) []byte {
	if len(names) == 0 {
		return text
	}
	ours := make(map[string]string, len(names))
	for istio, theirs := range names {
		for _, series := range []string{"", "_bucket", "_sum", "_count"} {
			ours[theirs+series] = istio + series
		}
	}
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		start := 0
		for _, comment := range []string{"# HELP ", "# TYPE "} {
			if bytes.HasPrefix(line, []byte(comment)) {
				start = len(comment)
			}
		}
		end := start
		for end < len(line) && bytes.IndexByte([]byte("{ \t\r\n"), line[end]) < 0 {
			end++
		}
		if name, ok := ours[string(line[start:end])]; ok {
			out.Write(line[:start])
			out.WriteString(name)
			line = line[end:]
		}
		out.Write(line)
	}
	return out.Bytes()
}
