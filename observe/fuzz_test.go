package observe_test

import (
	"testing"

	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// FuzzMetrics: no page of metrics stops the program, whatever is read from it.
func FuzzMetrics(f *testing.F) {
	f.Add(scrape(1, 4, 100, 2, 7), scrape(1, 4, 112, 5, 9))
	f.Add([]byte("# TYPE pilot_debounce_time histogram\npilot_debounce_time_bucket{le=\"0.1\"} 1\npilot_debounce_time_bucket{le=\"+Inf\"} 0\npilot_debounce_time_sum NaN\npilot_debounce_time_count 3\n"),
		[]byte("# TYPE pilot_debounce_time histogram\npilot_debounce_time_bucket{le=\"0.1\"} 9\npilot_debounce_time_bucket{le=\"+Inf\"} 5\npilot_debounce_time_sum -1\npilot_debounce_time_count 7\n"))
	f.Add([]byte("pilot_xds_pushes{type=\"eds\"} 1e308\n"), []byte("pilot_xds{version=\"\\\"}\"} -Inf\n"))
	f.Fuzz(func(_ *testing.T, before, after []byte) {
		if s, err := observe.Parse(after); err == nil {
			s.Pushes()
			s.Usage()
		}
		m, err := observe.Gained(before, after)
		if err != nil {
			return
		}
		r := &result.Result{
			ControlPlane: &observed.ControlPlane{Metrics: m},
			Mutations:    &result.Mutations{Applied: 3},
			Propagation:  &result.Propagation{All: &result.Distribution{Count: 3, Mean: 0.1, P50: 0.1, P99: 0.2, Max: 0.2}},
		}
		observe.AddStages(r, observe.Debounce{})
		observe.AddSignals(r)
		_, _ = observe.CrossCheck([]observe.Replica{{Start: before, Before: before, After: after}})
		_, _ = observe.MissingMetrics(after)
	})
}
