package observe

import (
	"fmt"
	"slices"

	dto "github.com/prometheus/client_model/go"

	"github.com/xdsbench/xdsbench/result/observed"
)

// GainedByReplicas is [Gained] of several replicas together, with a scrape
// of each before and after, in the same order; nil where there is none. Counters
// and histograms add up. So do gauges, but for those of the mesh, which each
// replica has in full, and start times: of these the largest stands. Of a replica
// that was started in between, all that it counts since is in the sums.
func GainedByReplicas(before, after [][]byte) (*observed.Metrics, error) {
	m := &observed.Metrics{
		Gauges: make(map[string]float64), Counters: make(map[string]float64), Histograms: make(map[string]*observed.Quantiles),
	}
	old, now := Scrape{}, Scrape{}
	for i := range after {
		then, err := Parse(before[i])
		if err != nil {
			return nil, fmt.Errorf("metrics before: %w", err)
		}
		present, err := Parse(after[i])
		if err != nil {
			return nil, fmt.Errorf("metrics after: %w", err)
		}
		was, _ := then.Sum(startTime)
		if is, _ := present.Sum(startTime); is != was {
			m.Restarted = true
			then = nil
		}
		old.join(then)
		now.join(present)
	}
	for name, family := range now {
		addFamily(m, name, family, old[name])
	}
	return m, nil
}

const startTime = "process_start_time_seconds"

// join appends the series of another replica: what reads families adds up the
// series of one name.
func (s Scrape) join(o Scrape) {
	for name, family := range o {
		if s[name] == nil {
			s[name] = &dto.MetricFamily{Name: family.Name, Type: family.Type}
		}
		s[name].Metric = append(s[name].Metric, family.GetMetric()...)
	}
}

// addGauge adds the value of one replica's gauge.
func addGauge(m *observed.Metrics, name, series string, value float64) {
	if other, ok := m.Gauges[series]; ok && slices.Contains([]string{startTime, "pilot_services", "pilot_info"}, name) {
		m.Gauges[series] = max(other, value)
		return
	}
	m.Gauges[series] += value
}
