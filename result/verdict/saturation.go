package verdict

import (
	"fmt"
	"time"

	"github.com/xdsbench/xdsbench/result"
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
// harness: as many as lie beyond the highest quantile of n that is judged, which is
// the p99 of 500, the p90 of 50, and the median of fewer (see samplesBeyond).
func enoughSamples(n int64) int64 {
	switch {
	case n >= 100*samplesBeyond:
		return n / 100
	case n >= 10*samplesBeyond:
		return n / 10
	}
	return max((n+1)/2, 1)
}

// Saturation decides whether the harness was the bottleneck of these latencies, and
// why; nil latencies are those of a run that had none. stops are those of steady load.
func Saturation(h *result.Harness, stops pauses, latencies *result.Propagation) {
	h.Saturated, h.Reasons, h.Unknown = false, nil, ""
	var small time.Duration // what is little in these latencies
	if latencies != nil && latencies.All != nil {
		judgeOwnPart(h, latencies)
		small = time.Duration(maxShareOfLatency * latencies.All.P50 * float64(time.Second)).Round(time.Millisecond)
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
	if share, ok := cpuShare(h); ok && share > maxCPUShare {
		blame(h, "the harness used %.0f %% of its %d CPUs under steady load (limit %.0f %%): lower proxies.count or churn rates, or run the target elsewhere",
			100*share, h.GOMAXPROCS, 100*maxCPUShare)
	}
}

// cpuShare is the part of its processors that the harness used under steady load, or
// in the whole run where steady load is not known apart.
func cpuShare(h *result.Harness) (share float64, ok bool) {
	switch {
	case h.GOMAXPROCS == 0:
		return 0, false
	case h.SteadyCores != nil:
		return *h.SteadyCores / float64(h.GOMAXPROCS), true
	case h.CPUSeconds == nil || h.WallSeconds == nil || *h.WallSeconds == 0:
		return 0, false
	}
	return *h.CPUSeconds / *h.WallSeconds / float64(h.GOMAXPROCS), true
}

// samplesBeyond is how many mutations must lie beyond a quantile for the harness's
// part of it to mean anything: the p99 of ten is one of them. Mutations count, and not
// deliveries, of which one stall delays many.
const samplesBeyond = 5

// judgeOwnPart compares latencies with those that end when the message reached this
// machine: the rest is the harness's own.
func judgeOwnPart(h *result.Harness, p *result.Propagation) {
	if h.StampLag == nil || h.Unstamped > h.StampLag.Count/100 {
		h.Unknown = fmt.Sprintf("%d responses had no time of arrival from the kernel, so the harness's own part of the latencies is not known", h.Unstamped)
		return
	}
	if p.LastProxy == nil {
		return
	}
	cpu := ""
	if share, ok := cpuShare(h); ok {
		cpu = fmt.Sprintf(" while the harness used %.0f %% of its CPUs", 100*share)
	}
	for _, x := range []struct {
		whose        string
		all, arrived *result.Distribution
	}{
		{"every proxy's", p.All, p.Arrived}, {"the last proxy's", p.LastProxy, p.LastArrived},
	} {
		name, own, all := ownPart(x.all, x.arrived, p.LastProxy.Count)
		if name != "" {
			blame(h, "messages waited for their time stamp: that is %s of %s %s of %s (%.0f %%, limit %s or a tenth; %d mutations)%s: lower proxies.count or churn rates, give the harness more CPU, or set target.priority to idle",
				roundSeconds(own), x.whose, name, roundSeconds(all), 100*own/all, maxOwnPart, p.LastProxy.Count, cpu)
		}
	}
}

// ownPart returns the first quantile of which too much is the harness's own, with
// that part and the whole in seconds; "" if there is none that enough mutations lie
// beyond.
func ownPart(all, arrived *result.Distribution, mutations int64) (name string, own, whole float64) {
	if all == nil || arrived == nil {
		return "", 0, 0
	}
	for _, q := range []struct {
		name         string
		beyond       float64
		all, arrived float64
	}{
		{"median", 0.5, all.P50, arrived.P50}, {"p90", 0.1, all.P90, arrived.P90}, {"p99", 0.01, all.P99, arrived.P99},
	} {
		own := q.all - q.arrived
		if q.beyond*float64(mutations) >= samplesBeyond && own > max(maxOwnPart.Seconds(), maxShareOfLatency*q.all) {
			return q.name, own, q.all
		}
	}
	return "", 0, 0
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
