package self

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"github.com/xdsbench/xdsbench/result"
)

// The runtime's own histograms, in seconds.
const (
	gcPauses     = "/sched/pauses/total/gc:seconds"
	runQueueWait = "/sched/latencies:seconds"
)

// Meter measures what the harness itself costs, from its start on.
type Meter struct {
	started       time.Time
	cpu           float64
	pauses, waits *metrics.Float64Histogram
	marked        *metrics.Float64Histogram // nil before Mark
}

// Start begins to measure.
func Start() *Meter {
	cpu, _, err := ownUsage()
	if err != nil {
		cpu = math.NaN()
	}
	return &Meter{started: time.Now(), cpu: cpu, pauses: readHistogram(gcPauses), waits: readHistogram(runQueueWait)}
}

// Mark begins steady load: the pauses that Stop returns count from here.
func (s *Meter) Mark() { s.marked = readHistogram(gcPauses) }

// Stop adds to h what was measured, and returns how often garbage collection
// stopped the process since Mark, or since Start without one. What the system does not tell is left out, and the error says why.
func (s *Meter) Stop(h *result.Harness) (pauses Pauses, err error) {
	wall := time.Since(s.started).Seconds()
	h.WallSeconds = &wall
	h.GOMAXPROCS = runtime.GOMAXPROCS(0)
	pauses = gained(s.pauses, readHistogram(gcPauses))
	if len(pauses.edges) > 0 {
		longest := pauses.AtRank(0)
		h.GCPauseMax = &longest
	}
	waits := gained(s.waits, readHistogram(runQueueWait))
	if len(waits.edges) > 0 {
		p99 := waits.AtRank(waits.Total() / 100)
		h.RunQueueP99 = &p99
	}
	cpu, rss, err := ownUsage()
	if err == nil {
		h.PeakRSSBytes = &rss
	}
	if s.marked != nil {
		pauses = gained(s.marked, readHistogram(gcPauses))
	}
	if spent := cpu - s.cpu; err == nil && !math.IsNaN(spent) {
		h.CPUSeconds = &spent
	}
	return pauses, err
}

// CPUSeconds returns the processor time that this process has used.
func CPUSeconds() (float64, error) {
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
	if cpu, err = CPUSeconds(); err != nil {
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

// Pauses is what a histogram of the runtime gained; counts[i] samples lie between
// edges[i] and edges[i+1], in seconds. One that the runtime does not have is empty.
type Pauses struct {
	counts []uint64
	edges  []float64
}

// gained is empty if either histogram is missing.
func gained(before, after *metrics.Float64Histogram) Pauses {
	if before == nil || after == nil || len(before.Counts) != len(after.Counts) {
		return Pauses{}
	}
	b := Pauses{counts: slices.Clone(after.Counts), edges: after.Buckets}
	for i, n := range before.Counts {
		b.counts[i] -= n
	}
	return b
}

// Total counts the samples.
func (b Pauses) Total() (n uint64) {
	for _, c := range b.counts {
		n += c
	}
	return n
}

// Beyond counts the samples whose whole bucket lies above limit.
func (b Pauses) Beyond(limit time.Duration) (n uint64) {
	for i, c := range b.counts {
		if b.edges[i] >= limit.Seconds() {
			n += c
		}
	}
	return n
}

// AtRank returns the upper edge of the bucket that holds the sample above which
// there are n others; zero if there is none.
func (b Pauses) AtRank(n uint64) float64 {
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
