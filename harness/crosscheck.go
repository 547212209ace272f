package harness

import (
	"fmt"

	"github.com/xdsbench/xdsbench/collect"
)

// crossCheck compares a result with the control plane's own metrics, under
// istiod's names, and describes each disagreement with both numbers. It says
// nothing about what the control plane does not count.
func crossCheck(r *collect.Result, readyNow int) []string {
	m := r.ControlPlane.Metrics
	if m == nil || m.Restarted {
		return nil
	}
	var found []string
	compare := func(series map[string]float64, name, what string, ours int64) {
		if theirs, ok := series[name]; ok && int64(theirs) != ours {
			found = append(found, fmt.Sprintf("cross-check: %s: %d by our count, %.0f by the control plane's %s", what, ours, theirs, name))
		}
	}
	if xds, ok := total(m.Gauges, "pilot_xds"); ok {
		compare(map[string]float64{"pilot_xds": xds}, "pilot_xds", "connected proxies", int64(readyNow))
	}
	if r.Volume == nil {
		return found
	}
	for _, t := range []string{"cds", "eds", "lds", "rds"} {
		compare(m.Counters, `pilot_xds_pushes{type="`+t+`"}`, t+" responses since the warm-up", r.Volume.ByType[t].Responses)
	}
	return found
}

// crossCheckRejects compares the NACKs of the whole run, from before the fleet
// connected, with the control plane's count of them.
func crossCheckRejects(start, after []byte, acks *collect.Acks) ([]string, error) {
	if start == nil || after == nil || acks == nil {
		return nil, nil
	}
	m, err := collect.MetricsDiff(start, after)
	if err != nil || m.Restarted {
		return nil, err
	}
	if _, known := total(m.Counters, "pilot_xds_pushes"); !known {
		return nil, nil // it does not count in istiod's words
	}
	theirs, _ := total(m.Counters, "pilot_total_xds_rejects") // none until it counts the first
	if ours := acks.NacksInjected + acks.NacksInvalid; ours != int64(theirs) {
		return []string{fmt.Sprintf("cross-check: NACKs in the whole run: %d by our count, %.0f by the control plane's pilot_total_xds_rejects", ours, theirs)}, nil
	}
	return nil, nil
}

// total sums all series of a metric.
func total(series map[string]float64, name string) (sum float64, ok bool) {
	for key, value := range series {
		if base(key) == name {
			sum, ok = sum+value, true
		}
	}
	return sum, ok
}

// base returns a series's name without its labels.
func base(series string) string {
	for i, c := range series {
		if c == '{' {
			return series[:i]
		}
	}
	return series
}
