package collect

import (
	"slices"

	"github.com/xdsbench/xdsbench/internal/quantile"
)

// replica is what is counted of the pairs of one replica's proxies in a shard,
// guarded by the shard's mutex.
type replica struct {
	sums      deliverySums
	latencies *samples // coarse
}

// newReplicas makes the counts; none for one replica, whose pairs are all there are.
func newReplicas(replicaOf []int) []replica {
	if len(replicaOf) == 0 || slices.Max(replicaOf) == 0 {
		return nil
	}
	all := make([]replica, slices.Max(replicaOf)+1)
	for i := range all {
		all[i].latencies = newCoarse()
	}
	return all
}

// ReplicaPairs is how the pairs of one replica's proxies ended: those that were
// connected to it when that was known, or last before.
type ReplicaPairs struct {
	Deliveries, Undelivered int64
	// Diverged proxies ended with a wrong state.
	Diverged int
	// P50 and P99 of the latencies in seconds, within 1 %; nil without deliveries. P99
	// is the largest of fewer than 100.
	P50, P99 *float64
}

// ByReplica returns the pairs of each of several replicas, after Finish; nil if
// there is one.
func (c *Collector) ByReplica() []ReplicaPairs {
	all := make([]ReplicaPairs, len(c.shards[0].byReplica))
	for i := range all {
		merged, largest := coarseHistogram(), int64(0)
		for _, s := range c.shards {
			s.mu.Lock()
			r := &s.byReplica[i]
			all[i].Deliveries += r.sums.delivered
			all[i].Undelivered += r.sums.undelivered
			r.latencies.MergeInto(merged) // the same range: nothing is dropped
			largest = max(largest, r.latencies.largest)
			for p := range s.proxies {
				if s.proxies[p].replica == i && s.proxies[p].diverged > 0 {
					all[i].Diverged++
				}
			}
			s.mu.Unlock()
		}
		if merged.TotalCount() > 0 {
			q := quantile.Of(merged, largest, 0.5, 0.99)
			all[i].P50 = new(float64(q[0]) * secondsPerNanosecond)
			all[i].P99 = new(float64(q[1]) * secondsPerNanosecond)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
