package collect

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/internal/quantile"
)

// Interval is what came since the Interval before.
type Interval struct {
	Deliveries int64
	// P50 and P99 of their latencies in seconds; nil without deliveries.
	P50, P99 *float64
}

// Intervals cuts the deliveries of a run into intervals. It is for one goroutine.
type Intervals struct {
	c      *Collector
	spare  *samples
	merged *hdrhistogram.Histogram
}

// Intervals returns a cutter whose first interval begins with the run.
func (c *Collector) Intervals() *Intervals {
	return &Intervals{c: c, spare: newCoarse(), merged: coarseHistogram()}
}

// Cut ends an interval. Each shard is locked only to swap its histogram for an
// empty one.
func (v *Intervals) Cut() Interval {
	v.merged.Reset()
	var largest int64
	for _, s := range v.c.shards {
		s.mu.Lock()
		if s.recent.TotalCount() == 0 {
			s.mu.Unlock()
			continue
		}
		s.recent, v.spare = v.spare, s.recent
		s.mu.Unlock()
		v.spare.MergeInto(v.merged) // the same range: nothing is dropped
		largest = max(largest, v.spare.largest)
		v.spare.Reset()
	}
	n := v.merged.TotalCount()
	if n == 0 {
		return Interval{}
	}
	q := quantile.Of(v.merged, largest, 0.5, 0.99)
	p50, p99 := float64(q[0])*secondsPerNanosecond, float64(q[1])*secondsPerNanosecond
	return Interval{Deliveries: n, P50: &p50, P99: &p99}
}
