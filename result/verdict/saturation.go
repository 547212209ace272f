package verdict

import (
	"fmt"
	"github.com/xdsbench/xdsbench/result"
	"time"
)

// Above these, and above a tenth of the latency, the harness may have shaped the
// numbers: 30 ms of our own are much in 100 ms, and little in 2 s.
const (
	maxShareOfLatency = 0.1

	// maxScheduleLag: mutations are late beyond it.
	maxScheduleLag = 10 * time.Millisecond
	// maxOwnPart of a latency's quantile is ours.
	maxOwnPart = 5 * time.Millisecond
	// maxGCPause stops all streams at once.
	maxGCPause = 20 * time.Millisecond
	// maxCPUShare of the processors granted leaves none for a burst.
	maxCPUShare = 0.85
)

// pauses are the stops of a garbage collector.
type pauses interface {
	Total() uint64
	// Beyond counts those longer than a limit.
	Beyond(limit time.Duration) uint64
	// AtRank returns in seconds the pause above which there are n longer ones.
	AtRank(n uint64) float64
}

// enoughSamples is how many of n samples must lie beyond a limit to blame the
// harness: one in a hundred, as for a p99, but five at least. The p99 of forty
// samples is the largest of them, and one stall of a busy machine would be
// enough. Of less than ten samples it takes half.
func enoughSamples(n int64) int64 { return max(n/100, min(5, (n+1)/2), 1) }

// Saturation decides whether the harness was the bottleneck of these latencies, and
// why. Nil latencies are those of a run that had none.
func Saturation(h *result.Harness, stops pauses, latencies *result.Propagation) {
	h.Saturated, h.Reasons = false, nil
	var small time.Duration // what is little in these latencies
	if latencies != nil {
		judgeOwnPart(h, "every proxy's", latencies.All, latencies.Arrived)
		judgeOwnPart(h, "the last proxy's", latencies.LastProxy, latencies.LastArrived)
		if latencies.All != nil {
			small = time.Duration(maxShareOfLatency * latencies.All.P50 * float64(time.Second)).Round(time.Millisecond)
		}
	}
	scheduleLag, gcPause := max(maxScheduleLag, small), max(maxGCPause, small)
	if n, all := beyond(h.ScheduleLag, scheduleLag); n >= enoughSamples(all) {
		blame(h, "mutations were issued late (%d of %d by more than %s, p99 %s): lower churn rates, or give the API server more CPU",
			n, all, scheduleLag, roundSeconds(h.ScheduleLag.P99))
	}
	if n, all := int64(stops.Beyond(gcPause)), int64(stops.Total()); n >= enoughSamples(all) {
		blame(h, "garbage collection stopped the harness %d times for more than %s, once for %s: lower proxies.count",
			n, gcPause, roundSeconds(stops.AtRank(0)))
	}
	if h.CPUSeconds == nil || h.WallSeconds == nil || *h.WallSeconds == 0 {
		return
	}
	if share := *h.CPUSeconds / *h.WallSeconds / float64(h.GOMAXPROCS); share > maxCPUShare {
		blame(h, "the harness used %.0f %% of its %d CPUs (limit %.0f %%): lower proxies.count or churn rates, or run the target elsewhere",
			100*share, h.GOMAXPROCS, 100*maxCPUShare)
	}
}

// judgeOwnPart compares latencies with those that end when the message reached this
// machine: the rest is the harness's own.
func judgeOwnPart(h *result.Harness, whose string, all, arrived *result.Distribution) {
	if all == nil || arrived == nil || all.Count == 0 {
		return
	}
	for _, q := range []struct {
		name         string
		all, arrived float64
	}{
		{"median", all.P50, arrived.P50}, {"p90", all.P90, arrived.P90}, {"p99", all.P99, arrived.P99},
	} {
		own := q.all - q.arrived
		if own > max(maxOwnPart.Seconds(), maxShareOfLatency*q.all) {
			blame(h, "messages waited for their time stamp: that is %s of %s %s of %s (limit %s or a tenth): lower proxies.count or churn rates, give the harness more CPU, or set target.priority to idle",
				roundSeconds(own), whose, q.name, roundSeconds(q.all), maxOwnPart)
			return
		}
	}
}

// beyond counts the samples above limit, and all. Without samples, or without
// the histogram to count them in, both are zero.
func beyond(d *result.Distribution, limit time.Duration) (n, all int64) {
	if d == nil {
		return 0, 0
	}
	h, err := d.Decode()
	if err != nil {
		return 0, 0
	}
	for _, bar := range h.Distribution() {
		if bar.From > int64(limit) {
			n += bar.Count
		}
	}
	return n, h.TotalCount()
}

func blame(h *result.Harness, format string, args ...any) {
	h.Saturated = true
	h.Reasons = append(h.Reasons, fmt.Sprintf(format, args...))
}

func roundSeconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Microsecond)
}
