package observe

import (
	"strings"

	"github.com/xdsbench/xdsbench/result/observed"
)

// Pushes is how many responses a control plane sent between two scrapes, of all
// types; nil if it does not count them. Those that failed are left out.
func Pushes(m *observed.Metrics) *int64 {
	var sum int64
	counted := false
	for series, n := range m.Counters {
		if family, _, _ := strings.Cut(series, "{"); family == pushes && !failed(series) {
			sum, counted = sum+int64(n), true
		}
	}
	if !counted {
		return nil
	}
	return &sum
}
