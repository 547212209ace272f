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

// Above these the harness may have shaped the numbers.
const (
	// maxScheduleLag: mutations are late beyond it, at the 99th percentile.
	maxScheduleLag = defaultLateAfter
	// maxStampLag is the share of our own in a latency, at the 99th percentile.
	maxStampLag = 5 * time.Millisecond
	// maxGCPause stops all streams at once.
	maxGCPause = 20 * time.Millisecond
	// maxCPUShare of the processors granted leaves none for a burst.
	maxCPUShare = 0.85
)

const gcPauses = "/sched/pauses/total/gc:seconds"

// SelfMeter measures what the harness itself costs, from its start on.
type SelfMeter struct {
	started time.Time
	cpu     float64
	pauses  *metrics.Float64Histogram
}

// StartSelfMeter begins to measure.
func StartSelfMeter() *SelfMeter {
	cpu, _, err := ownUsage()
	if err != nil {
		cpu = math.NaN()
	}
	return &SelfMeter{started: time.Now(), cpu: cpu, pauses: readPauses()}
}

// Stop adds to h what was measured, and whether the harness was the bottleneck.
// What the system does not tell is left out, and the error says why.
func (s *SelfMeter) Stop(h *Harness) error {
	wall := time.Since(s.started).Seconds()
	h.WallSeconds = &wall
	h.GOMAXPROCS = runtime.GOMAXPROCS(0)
	if pause, ok := longest(s.pauses, readPauses()); ok {
		h.GCPauseMax = &pause
	}
	cpu, rss, err := ownUsage()
	if err == nil {
		h.PeakRSSBytes = &rss
	}
	if spent := cpu - s.cpu; err == nil && !math.IsNaN(spent) {
		h.CPUSeconds = &spent
	}
	h.judge()
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

func readPauses() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: gcPauses}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return sample[0].Value.Float64Histogram()
}

// longest returns the upper edge of the highest bucket that gained a pause,
// zero if there was none.
func longest(before, after *metrics.Float64Histogram) (seconds float64, ok bool) {
	if before == nil || after == nil || len(before.Counts) != len(after.Counts) {
		return 0, false
	}
	for i, n := range slices.Backward(after.Counts) {
		if n == before.Counts[i] {
			continue
		}
		if edge := after.Buckets[i+1]; !math.IsInf(edge, 1) {
			return edge, true
		}
		return after.Buckets[i], true
	}
	return 0, true
}

// judge decides whether the harness was the bottleneck, and why.
func (h *Harness) judge() {
	h.Saturated, h.Reasons = false, nil
	if d := h.ScheduleLag; d != nil && d.P99 > maxScheduleLag.Seconds() {
		h.blame("mutations were issued late (p99 %s, limit %s): lower churn rates, or give the API server more CPU",
			roundSeconds(d.P99), maxScheduleLag)
	}
	if d := h.StampLag; d != nil && d.P99 > maxStampLag.Seconds() {
		h.blame("messages waited for their time stamp (p99 %s, limit %s): lower proxies.count or churn rates, or give the harness more CPU",
			roundSeconds(d.P99), maxStampLag)
	}
	if p := h.GCPauseMax; p != nil && *p > maxGCPause.Seconds() {
		h.blame("garbage collection stopped the harness for up to %s (limit %s): lower proxies.count",
			roundSeconds(*p), maxGCPause)
	}
	if h.CPUSeconds == nil || h.WallSeconds == nil || *h.WallSeconds == 0 {
		return
	}
	if share := *h.CPUSeconds / *h.WallSeconds / float64(h.GOMAXPROCS); share > maxCPUShare {
		h.blame("the harness used %.0f %% of its %d CPUs (limit %.0f %%): lower proxies.count or churn rates, or run the target elsewhere",
			100*share, h.GOMAXPROCS, 100*maxCPUShare)
	}
}

func (h *Harness) blame(format string, args ...any) {
	h.Saturated = true
	h.Reasons = append(h.Reasons, fmt.Sprintf(format, args...))
}

func roundSeconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Microsecond)
}
