package collect

import (
	"fmt"
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// Replica is one of several replicas of a control plane.
type Replica struct {
	Address string `json:"address"`
	// PID is the process's at the end of the run, 0 if it is not ours.
	PID int `json:"pid,omitempty"`
	// The proxies connected to it: when steady load began, the fewest and the most
	// at the end of a second of steady load and drain, and at the end of the drain.
	ConnectionsAtSteadyStart int `json:"connectionsAtSteadyStart"`
	ConnectionsMin           int `json:"connectionsMin"`
	ConnectionsMax           int `json:"connectionsMax"`
	ConnectionsAtEnd         int `json:"connectionsAtEnd"`
	// CPUSeconds is of all its lives; PeakRSSBytes of the largest.
	CPUSeconds   *float64 `json:"cpuSeconds,omitempty" unit:"s"`
	PeakRSSBytes *int64   `json:"peakRSSBytes,omitempty" unit:"bytes"`
	// Responses are what its proxies received in steady load and drain; Pushes what
	// it sent by its own count, from its last start if it was started meanwhile.
	Responses int64  `json:"responses"`
	Pushes    *int64 `json:"pushes,omitempty"`
	Restarted bool   `json:"restarted,omitempty"`
}

// AddImbalance works ConnectionImbalance out from Replicas, if there are any with
// connections.
func (c *ControlPlane) AddImbalance() {
	most, sum := 0, 0
	for i := range c.Replicas {
		most, sum = max(most, c.Replicas[i].ConnectionsAtEnd), sum+c.Replicas[i].ConnectionsAtEnd
	}
	if sum > 0 {
		c.ConnectionImbalance = new(float64(most*len(c.Replicas)) / float64(sum))
	}
}

// MetricsOfReplicas is [MetricsDiff] of several replicas together, with a scrape
// of each before and after, in the same order; nil where there is none. Counters
// and histograms add up. So do gauges, but for those of the mesh, which each
// replica has in full, and start times: of these the largest stands. Of a replica
// that was started in between, all that it counts since is in the sums.
func MetricsOfReplicas(before, after [][]byte) (*Metrics, error) {
	m := &Metrics{
		Gauges: make(map[string]float64), Counters: make(map[string]float64), Histograms: make(map[string]*Quantiles),
	}
	old, now := families{}, families{}
	for i := range after {
		then, err := parseMetrics(before[i])
		if err != nil {
			return nil, fmt.Errorf("metrics before: %w", err)
		}
		present, err := parseMetrics(after[i])
		if err != nil {
			return nil, fmt.Errorf("metrics after: %w", err)
		}
		if gauge(then, startTime) != gauge(present, startTime) {
			m.Restarted = true
			then = nil
		}
		old.join(then)
		now.join(present)
	}
	for name, family := range now {
		m.add(name, family, old[name])
	}
	return m, nil
}

const startTime = "process_start_time_seconds"

// join appends the series of another replica: what reads families adds up the
// series of one name.
func (f families) join(o families) {
	for name, family := range o {
		if f[name] == nil {
			f[name] = &dto.MetricFamily{Name: family.Name, Type: family.Type}
		}
		f[name].Metric = append(f[name].Metric, family.GetMetric()...)
	}
}

// addGauge adds the value of one replica's gauge.
func (m *Metrics) addGauge(name, series string, value float64) {
	if other, ok := m.Gauges[series]; ok && slices.Contains([]string{startTime, "pilot_services", "pilot_info"}, name) {
		m.Gauges[series] = max(other, value)
		return
	}
	m.Gauges[series] += value
}
