package harness

import (
	"errors"
	"fmt"
	"slices"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
	"github.com/xdsbench/xdsbench/target"
)

// crossChecks compares a result with what the control plane, or each of its
// replicas, says of itself. Each disagreement is a warning.
func (r *run) crossChecks(res *result.Result) error {
	o := &r.observed
	if r.several() {
		return r.crossCheckReplicas()
	}
	r.warnAll(crossCheck(res, int(r.fleet.Counts().Connected)))
	if !anyOf(o.start) || !anyOf(o.after) {
		return nil
	}
	disagreements, err := crossCheckRejects(o.start[0], o.after[0], res.Acks)
	r.warnAll(disagreements)
	return err
}

// crossCheckReplicas compares our counts of what went by each replica with its
// own. Those of a replica that was started again count from that start.
func (r *run) crossCheckReplicas() error {
	o := &r.observed
	if r.cfg.Profile.Target.Kind == target.KindExternal && slices.ContainsFunc(o.after, func(text []byte) bool { return text == nil }) {
		return nil // one URL may stand for all addresses: whose counts it has is not known
	}
	var errs []error
	for i, p := range r.replicas {
		if o.after == nil || o.after[i] == nil || o.before[i] == nil {
			continue
		}
		if _, counts := observe.SumSeries(o.after[i], "pilot_xds_pushes"); !counts {
			continue // not in istiod's words, or there was nothing to count
		}
		born := p.born.Load()
		for _, check := range []struct {
			then     []byte
			counts   replicaCounts
			compared func(*observed.Metrics, replicaCounts) []string
		}{
			{o.before[i], o.countsBefore[i], compareTraffic},
			{o.start[i], replicaCounts{}, compareNACKs},
		} {
			m, err := observe.Gained(check.then, o.after[i])
			if err != nil {
				errs = append(errs, err)
				continue
			}
			from := check.counts
			if m.Restarted && born != nil {
				from = *born
			}
			for _, text := range check.compared(m, o.countsAfter[i].minus(from)) {
				r.warn("cross-check: replica %d: %s", i, text)
			}
		}
	}
	return errors.Join(errs...)
}

// compareTraffic compares connections and responses.
func compareTraffic(m *observed.Metrics, ours replicaCounts) (found []string) {
	if xds, ok := total(m.Gauges, "pilot_xds"); ok && int64(xds) != ours.connected {
		found = append(found, fmt.Sprintf("connected proxies: %d by our count, %.0f by its pilot_xds", ours.connected, xds))
	}
	for _, t := range []xds.Type{xds.CDS, xds.EDS, xds.LDS, xds.RDS} {
		series := fmt.Sprintf("pilot_xds_pushes{type=%q}", t)
		if theirs := m.Counters[series]; int64(theirs) != ours.responses[t] {
			found = append(found, fmt.Sprintf("%s responses: %d by our count, %.0f by its %s%s",
				t, ours.responses[t], theirs, series, failedPushes(int64(theirs)-ours.responses[t], ours.broken)))
		}
	}
	return found
}

// failedPushes explains that the control plane counts more pushes than arrived, if
// broken streams can be why. istiod counts a push when it returns, also if sending
// failed (pilot/pkg/xds: recordPushTime is deferred), and then ends the stream.
func failedPushes(more, broken int64) string {
	if more <= 0 || more > broken {
		return ""
	}
	return fmt.Sprintf(" (%d streams broke: istiod also counts the push that failed when one did)", broken)
}

// broken returns how many streams broke in the whole run.
func broken(r *result.Result) int64 {
	if r.Proxies == nil {
		return 0
	}
	return r.Proxies.Disconnects
}

// compareNACKs compares NACKs.
func compareNACKs(m *observed.Metrics, ours replicaCounts) []string {
	theirs, _ := total(m.Counters, "pilot_total_xds_rejects") // none until it counts the first
	if int64(theirs) == ours.nacks {
		return nil
	}
	return []string{fmt.Sprintf("NACKs: %d by our count, %.0f by its pilot_total_xds_rejects", ours.nacks, theirs)}
}

// crossCheck compares a result with the control plane's own metrics, under
// istiod's names, and describes each disagreement with both numbers. It says
// nothing about what the control plane does not count.
func crossCheck(r *result.Result, readyNow int) []string {
	m := r.ControlPlane.Metrics
	if m == nil || m.Restarted {
		return nil
	}
	var found []string
	compare := func(series map[string]float64, name, what string, ours int64) {
		if theirs, ok := series[name]; ok && int64(theirs) != ours {
			found = append(found, fmt.Sprintf("cross-check: %s: %d by our count, %.0f by the control plane's %s%s",
				what, ours, theirs, name, failedPushes(int64(theirs)-ours, broken(r))))
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
func crossCheckRejects(start, after []byte, acks *result.Acks) ([]string, error) {
	if start == nil || after == nil || acks == nil {
		return nil, nil
	}
	m, err := observe.Gained(start, after)
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
