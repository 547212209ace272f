package observe

import (
	"strings"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// The metrics that signals and stages are made of, under istiod's names.
func latencyMetrics() []string {
	return []string{
		"pilot_debounce_time", "pilot_pushcontext_init_seconds", "pilot_proxy_queue_time",
		"pilot_xds_push_time", "pilot_xds_send_time", "pilot_proxy_convergence_time",
	}
}

func trafficCounters() []string {
	return []string{"pilot_inbound_updates", "pilot_push_triggers", pushes}
}

func trafficGauges() []string { return []string{connections, "pilot_services"} }

// errorCounters appear with the first error only.
func errorCounters() []string {
	return []string{
		rejects, "pilot_total_xds_internal_errors", "pilot_xds_write_timeout",
		"pilot_xds_expired_nonce", "pilot_xds_push_context_errors",
	}
}

// MissingMetrics lists which of the metrics that stages and signals need are not
// in the scrape of any replica. Counters of errors are not asked for: they appear
// with the first.
func MissingMetrics(scrapes ...[]byte) ([]string, error) {
	all := Scrape{}
	for _, scrape := range scrapes {
		one, err := Parse(scrape)
		if err != nil {
			return nil, err
		}
		all.join(one)
	}
	var missing []string
	for _, list := range [][]string{latencyMetrics(), trafficCounters(), trafficGauges()} {
		for _, name := range list {
			if all[name] == nil {
				missing = append(missing, name)
			}
		}
	}
	return missing, nil
}

// AddSignals fills in the four golden signals from the control plane's metrics, its
// cost, and what the proxies saw, and its work. ControlPlane must be set.
func AddSignals(r *result.Result) {
	s := &observed.Signals{
		Latency: make(map[string]float64), Traffic: make(map[string]float64),
		Errors: make(map[string]float64), Saturation: make(map[string]float64),
	}
	c := r.ControlPlane
	AddWork(r)
	AddCost(r)
	if c.Metrics != nil {
		addMetrics(s, c.Metrics)
	}
	if p := r.Propagation; p != nil {
		if p.All != nil {
			s.Latency["endToEnd.p50"], s.Latency["endToEnd.p99"] = p.All.P50, p.All.P99
		}
		s.Errors["undelivered"] = float64(p.Undelivered)
	}
	if v := r.Volume; v != nil && v.WireBytes != nil {
		s.Traffic["wireBytes"] = float64(v.WireBytes.In)
	}
	if p := r.Proxies; p != nil {
		s.Errors["disconnects"], s.Errors["refused"] = float64(p.Disconnects), float64(p.Refused)
	}
	if x := c.Steady; x != nil {
		s.Saturation["cores"], s.Saturation["peakCores"] = x.Cores, x.PeakCores
		s.Saturation["peakRSSBytes"] = float64(x.PeakRSSBytes)
	}
	c.Signals = s
}

func addMetrics(s *observed.Signals, m *observed.Metrics) {
	for _, name := range latencyMetrics() {
		if q := m.Histograms[name]; q != nil {
			s.Latency[name+".p50"], s.Latency[name+".p99"] = q.P50, q.P99
		}
	}
	for _, name := range trafficCounters() {
		addTotal(s.Traffic, m.Counters, name)
	}
	for series, value := range m.Counters {
		if strings.HasPrefix(series, pushes+"{") {
			s.Traffic[series] = value
		}
	}
	if q := m.Histograms["pilot_xds_config_size_bytes"]; q != nil {
		s.Traffic["pilot_xds_config_size_bytes.sum"] = q.Mean * float64(q.Count)
	}
	for _, name := range trafficGauges() {
		addTotal(s.Traffic, m.Gauges, name)
	}
	addCache(s, m)
	for _, name := range errorCounters() {
		addTotal(s.Errors, m.Counters, name)
	}
	for series, value := range m.Counters {
		if strings.HasPrefix(series, pushes+"{") && failed(series) {
			s.Errors[series] = value
		}
	}
	addTotal(s.Saturation, m.Counters, "process_cpu_seconds_total")
	for _, name := range []string{"process_resident_memory_bytes", "go_goroutines", "go_memstats_heap_inuse_bytes"} {
		addTotal(s.Saturation, m.Gauges, name)
	}
}

// addTotal puts the sum of a metric's series into to, if there are any.
func addTotal(to, series map[string]float64, name string) {
	if sum, ok := total(series, name); ok {
		to[name] = sum
	}
}
