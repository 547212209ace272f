package observe

import (
	"errors"
	"fmt"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result/observed"
)

// Counts is what the fleet had to do with one replica of the control plane, by the
// harness's own count.
type Counts struct {
	// Connected streams now; NACKs sent and streams broken since the start.
	Connected, NACKs, Broken int64
	// Responses received since the start.
	Responses [xds.NumTypes]int64
}

// Minus returns what came since o; Connected is as it is now.
func (c Counts) Minus(o Counts) Counts {
	c.NACKs -= o.NACKs
	c.Broken -= o.Broken
	for t := range c.Responses {
		c.Responses[t] -= o.Responses[t]
	}
	return c
}

// AllResponses counts the responses of all types.
func (c Counts) AllResponses() (sum int64) {
	for _, n := range c.Responses {
		sum += n
	}
	return sum
}

// Replica is what both sides counted of one replica: its scrapes before the fleet
// connected, before steady load and after the drain, nil where there is none, and our
// counts at the latter two.
type Replica struct {
	Start, Before, After      []byte
	CountsBefore, CountsAfter Counts
	// AtRestart is our counts when it was last started again, since when its own
	// count; nil if it never was.
	AtRestart *Counts
}

// CrossCheck compares our counts with those of each replica, under istiod's names,
// and describes each disagreement with both numbers: connections, responses since
// the warm-up, and NACKs of the whole run. It says nothing about what a replica does
// not count.
func CrossCheck(replicas []Replica) (disagreements []string, err error) {
	var errs []error
	for i, r := range replicas {
		found, err := r.check()
		errs = append(errs, err)
		for _, text := range found {
			if len(replicas) > 1 {
				text = fmt.Sprintf("replica %d: %s", i, text)
			}
			disagreements = append(disagreements, "cross-check: "+text)
		}
	}
	return disagreements, errors.Join(errs...)
}

func (r *Replica) check() (found []string, err error) {
	if r.Before == nil || r.After == nil {
		return nil, nil
	}
	after, err := Parse(r.After)
	if err != nil {
		return nil, err
	}
	if _, counts := after.Sum(pushes); !counts {
		return nil, nil // not under istiod's names, or there was nothing to count
	}
	m, ours, err := r.gained(r.Before, r.CountsBefore)
	if err != nil {
		return nil, err
	}
	found = compareTraffic(m, ours)
	if r.Start == nil {
		return found, nil
	}
	if m, ours, err = r.gained(r.Start, Counts{}); err != nil {
		return found, err
	}
	return append(found, compareNACKs(m, ours)...), nil
}

// gained returns what both sides counted since a scrape, or since the replica was
// last started if that was later.
func (r *Replica) gained(then []byte, counts Counts) (*observed.Metrics, Counts, error) {
	m, err := Gained(then, r.After)
	if err != nil {
		return nil, Counts{}, err
	}
	if m.Restarted && r.AtRestart != nil {
		counts = *r.AtRestart
	}
	return m, r.CountsAfter.Minus(counts), nil
}

// compareTraffic compares connections and responses.
func compareTraffic(m *observed.Metrics, ours Counts) (found []string) {
	if theirs, ok := total(m.Gauges, connections); ok && int64(theirs) != ours.Connected {
		found = append(found, fmt.Sprintf("connected proxies: %d by our count, %.0f by the control plane's %s", ours.Connected, theirs, connections))
	}
	for _, t := range []xds.Type{xds.CDS, xds.EDS, xds.LDS, xds.RDS} {
		series := fmt.Sprintf("%s{type=%q}", pushes, t)
		if theirs := m.Counters[series]; int64(theirs) != ours.Responses[t] {
			found = append(found, fmt.Sprintf("%s responses since the warm-up: %d by our count, %.0f by the control plane's %s%s",
				t, ours.Responses[t], theirs, series, failedPushes(int64(theirs)-ours.Responses[t], ours.Broken)))
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

// compareNACKs compares NACKs.
func compareNACKs(m *observed.Metrics, ours Counts) []string {
	theirs, _ := total(m.Counters, rejects) // none until it counts the first
	if int64(theirs) == ours.NACKs {
		return nil
	}
	return []string{fmt.Sprintf("NACKs in the whole run: %d by our count, %.0f by the control plane's %s", ours.NACKs, theirs, rejects)}
}
