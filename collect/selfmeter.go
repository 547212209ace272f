package collect

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// Above these, and above a tenth of the latency, the harness may have shaped the
// numbers: 30 ms of our own are much in 100 ms, and little in 2 s.
const (
	maxShareOfLatency = 0.1

	// maxScheduleLag: mutations are late beyond it.
	maxScheduleLag = defaultLateAfter
	// maxOwnPart of a latency's quantile is ours.
	maxOwnPart = 5 * time.Millisecond
	// maxGCPause stops all streams at once.
	maxGCPause = 20 * time.Millisecond
	// maxCPUShare of the processors granted leaves none for a burst.
	maxCPUShare = 0.85
)

// enoughSamples is how many of n samples must lie beyond a limit to blame the
// harness: one in a hundred, as for a p99, but five at least. The p99 of forty
// samples is the largest of them, and one stall of a busy machine would be
// enough. Of less than ten samples it takes half.
func enoughSamples(n int64) int64 { return max(n/100, min(5, (n+1)/2), 1) }

// The runtime's own histograms, in seconds.
const (
	gcPauses     = "/sched/pauses/total/gc:seconds"
	runQueueWait = "/sched/latencies:seconds"
)

// SelfMeter measures what the harness itself costs, from its start on.
type SelfMeter struct {
	started       time.Time
	cpu           float64
	pauses, waits *metrics.Float64Histogram
}

// StartSelfMeter begins to measure.
func StartSelfMeter() *SelfMeter {
	cpu, _, err := ownUsage()
	if err != nil {
		cpu = math.NaN()
	}
	return &SelfMeter{started: time.Now(), cpu: cpu, pauses: readHistogram(gcPauses), waits: readHistogram(runQueueWait)}
}

// Stop adds to h what was measured, and whether the harness was the bottleneck of
// these latencies; nil if there were none.
// What the system does not tell is left out, and the error says why.
func (s *SelfMeter) Stop(h *Harness, latencies *Propagation) error {
	wall := time.Since(s.started).Seconds()
	h.WallSeconds = &wall
	h.GOMAXPROCS = runtime.GOMAXPROCS(0)
	pauses := gained(s.pauses, readHistogram(gcPauses))
	if pauses != nil {
		longest := pauses.atRank(0)
		h.GCPauseMax = &longest
	}
	waits := gained(s.waits, readHistogram(runQueueWait))
	if waits != nil {
		p99 := waits.atRank(waits.total() / 100)
		h.RunQueueP99 = &p99
	}
	cpu, rss, err := ownUsage()
	if err == nil {
		h.PeakRSSBytes = &rss
	}
	if spent := cpu - s.cpu; err == nil && !math.IsNaN(spent) {
		h.CPUSeconds = &spent
	}
	h.judge(pauses, latencies)
	return err
}

// OwnCPUSeconds returns the processor time that this process has used.
func OwnCPUSeconds() (float64, error) {
	// Not /proc, whose ticks are 10 ms long.
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("harness CPU: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds(), nil
}

// ownUsage returns this process's CPU seconds and peak resident memory in bytes.
func ownUsage() (cpu float64, peak int64, err error) {
	p, err := procfs.Self()
	if err != nil {
		return 0, 0, fmt.Errorf("harness usage: %w", err)
	}
	if cpu, err = OwnCPUSeconds(); err != nil {
		return 0, 0, err
	}
	status, err := p.NewStatus()
	if err != nil {
		return 0, 0, fmt.Errorf("harness memory: %w", err)
	}
	return cpu, int64(status.VmHWM), nil
}

func readHistogram(name string) *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return sample[0].Value.Float64Histogram()
}

// runtimeBuckets is what a histogram of the runtime gained; counts[i] samples lie
// between edges[i] and edges[i+1].
type runtimeBuckets struct {
	counts []uint64
	edges  []float64
}

// gained returns nil if either histogram is missing.
func gained(before, after *metrics.Float64Histogram) *runtimeBuckets {
	if before == nil || after == nil || len(before.Counts) != len(after.Counts) {
		return nil
	}
	b := &runtimeBuckets{counts: slices.Clone(after.Counts), edges: after.Buckets}
	for i, n := range before.Counts {
		b.counts[i] -= n
	}
	return b
}

func (b *runtimeBuckets) total() (n uint64) {
	for _, c := range b.counts {
		n += c
	}
	return n
}

// beyond counts the samples whose whole bucket lies above limit.
func (b *runtimeBuckets) beyond(limit time.Duration) (n uint64) {
	for i, c := range b.counts {
		if b.edges[i] >= limit.Seconds() {
			n += c
		}
	}
	return n
}

// atRank returns the upper edge of the bucket that holds the sample above which
// there are n others; zero if there is none.
func (b *runtimeBuckets) atRank(n uint64) float64 {
	for i, c := range slices.Backward(b.counts) {
		if c <= n {
			n -= c
			continue
		}
		if edge := b.edges[i+1]; !math.IsInf(edge, 1) {
			return edge
		}
		return b.edges[i]
	}
	return 0
}

// judge decides whether the harness was the bottleneck, and why.
func (h *Harness) judge(pauses *runtimeBuckets, latencies *Propagation) {
	h.Saturated, h.Reasons = false, nil
	var small time.Duration // what is little in these latencies
	if latencies != nil {
		h.judgeOwnPart("every proxy's", latencies.All, latencies.Arrived)
		h.judgeOwnPart("the last proxy's", latencies.LastProxy, latencies.LastArrived)
		if latencies.All != nil {
			small = time.Duration(maxShareOfLatency * latencies.All.P50 * float64(time.Second)).Round(time.Millisecond)
		}
	}
	scheduleLag, gcPause := max(maxScheduleLag, small), max(maxGCPause, small)
	if n, all := h.ScheduleLag.beyond(scheduleLag); n >= enoughSamples(all) {
		h.blame("mutations were issued late (%d of %d by more than %s, p99 %s): lower churn rates, or give the API server more CPU",
			n, all, scheduleLag, roundSeconds(h.ScheduleLag.P99))
	}
	if pauses != nil {
		if n, all := int64(pauses.beyond(gcPause)), int64(pauses.total()); n >= enoughSamples(all) {
			h.blame("garbage collection stopped the harness %d times for more than %s, once for %s: lower proxies.count",
				n, gcPause, roundSeconds(pauses.atRank(0)))
		}
	}
	if h.CPUSeconds == nil || h.WallSeconds == nil || *h.WallSeconds == 0 {
		return
	}
	if share := *h.CPUSeconds / *h.WallSeconds / float64(h.GOMAXPROCS); share > maxCPUShare {
		h.blame("the harness used %.0f %% of its %d CPUs (limit %.0f %%): lower proxies.count or churn rates, or run the target elsewhere",
			100*share, h.GOMAXPROCS, 100*maxCPUShare)
	}
}

// judgeOwnPart compares latencies with those that end when the message reached this
// machine: the rest is the harness's own.
func (h *Harness) judgeOwnPart(whose string, all, arrived *Distribution) {
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
			h.blame("messages waited for their time stamp: that is %s of %s %s of %s (limit %s or a tenth): lower proxies.count or churn rates, give the harness more CPU, or set target.priority to idle",
				roundSeconds(own), whose, q.name, roundSeconds(q.all), maxOwnPart)
			return
		}
	}
}

// beyond counts the samples above limit, and all. Without samples, or without
// the histogram to count them in, both are zero.
func (d *Distribution) beyond(limit time.Duration) (n, all int64) {
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

func (h *Harness) blame(format string, args ...any) {
	h.Saturated = true
	h.Reasons = append(h.Reasons, fmt.Sprintf(format, args...))
}

func roundSeconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Microsecond)
}
