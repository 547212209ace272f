package sweep

import (
	"math"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// The figures that settings are weighed by; each has a median and a spread over
// the repeats.
const (
	LatencyP50   = "propagation.all.p50"
	LatencyP99   = "propagation.all.p99"
	LastProxyP99 = "propagation.lastProxy.p99"
	// DebounceMean, QueueMean and PushMean are means of stages, see collect.Stages.
	DebounceMean = "controlPlane.stages.debounce.mean"
	QueueMean    = "controlPlane.stages.queue.mean"
	PushMean     = "controlPlane.stages.push.mean"
	// Rounds is how often the control plane ended a debounce and pushed: the count
	// of pilot_debounce_time from the start of steady load to the end of the drain.
	Rounds = "debounceRounds"
	// MutationsPerRound is how many visible mutations a round carried.
	MutationsPerRound = "controlPlane.stages.mutationsPerPush"
	// Pushes is the increase of pilot_xds_pushes meanwhile, all types but those of
	// errors: one push is of one type to one proxy.
	Pushes = "pushes"
	// PushesSaved is 1 - Pushes / (mutations applied * proxies ready): the share
	// that is saved of one push per mutation and proxy. It is negative where full
	// pushes, which are of several types, outnumber what is merged.
	PushesSaved = "pushesSaved"
	// BytesReceived are those of the responses to all proxies, without framing,
	// from the start of steady load.
	BytesReceived = "volume.bytes"
	// CPUSeconds is the control plane's processor time from the start of steady
	// load to the end of the drain.
	CPUSeconds = "controlPlane.steady.cpuSeconds"
	PeakRSS    = "controlPlane.peakRSSBytes"
	// Nacks are those of the whole run, for a fault in the response or on purpose.
	Nacks     = "acks.nacks"
	Undelivered = "propagation.undelivered"
)

// cpuStep is the unit in which Linux gives a process's processor time, USER_HZ
// (proc_pid_stat(5)), in seconds.
const cpuStep = 0.01

// figure is how to read one figure from a result; ok is false if it was not
// measured.
type figure struct {
	name, unit string
	of         func(*result.Result) (value float64, ok bool)
}

// figures lists all, in the order of the reports.
func figures() []figure {
	return []figure{
		{LatencyP50, "s", ofPropagation(func(p *result.Propagation) *result.Distribution { return p.All }, p50)},
		{LatencyP99, "s", ofPropagation(func(p *result.Propagation) *result.Distribution { return p.All }, p99)},
		{LastProxyP99, "s", ofPropagation(func(p *result.Propagation) *result.Distribution { return p.LastProxy }, p99)},
		{DebounceMean, "s", ofStage(func(s *observed.Stages) *observed.Stage { return s.Debounce })},
		{QueueMean, "s", ofStage(func(s *observed.Stages) *observed.Stage { return s.Queue })},
		{PushMean, "s", ofStage(func(s *observed.Stages) *observed.Stage { return s.Push })},
		{Rounds, "", rounds},
		{MutationsPerRound, "", mutationsPerRound},
		{Pushes, "", pushes},
		{PushesSaved, "", pushesSaved},
		{BytesReceived, "bytes", bytesReceived},
		{CPUSeconds, "s", cpuSeconds},
		{PeakRSS, "bytes", peakRSS},
		{Nacks, "", nacks},
		{Undelivered, "", undelivered},
	}
}

func p50(d *result.Distribution) float64 { return d.P50 }
func p99(d *result.Distribution) float64 { return d.P99 }

func ofPropagation(of func(*result.Propagation) *result.Distribution, quantile func(*result.Distribution) float64) func(*result.Result) (float64, bool) {
	return func(r *result.Result) (float64, bool) {
		if r.Propagation == nil || of(r.Propagation) == nil {
			return 0, false
		}
		return quantile(of(r.Propagation)), true
	}
}

func ofStage(of func(*observed.Stages) *observed.Stage) func(*result.Result) (float64, bool) {
	return func(r *result.Result) (float64, bool) {
		if r.ControlPlane == nil || r.ControlPlane.Stages == nil || of(r.ControlPlane.Stages) == nil {
			return 0, false
		}
		return of(r.ControlPlane.Stages).Mean, true
	}
}

func metrics(r *result.Result) *observed.Metrics {
	if r.ControlPlane == nil || r.ControlPlane.Metrics == nil || r.ControlPlane.Metrics.Restarted {
		return nil
	}
	return r.ControlPlane.Metrics
}

func rounds(r *result.Result) (float64, bool) {
	m := metrics(r)
	if m == nil || m.Histograms["pilot_debounce_time"] == nil {
		return 0, false
	}
	return float64(m.Histograms["pilot_debounce_time"].Count), true
}

func mutationsPerRound(r *result.Result) (float64, bool) {
	if r.ControlPlane == nil || r.ControlPlane.Stages == nil || r.ControlPlane.Stages.MutationsPerPush == 0 {
		return 0, false
	}
	return r.ControlPlane.Stages.MutationsPerPush, true
}

func pushes(r *result.Result) (sum float64, ok bool) {
	m := metrics(r)
	if m == nil {
		return 0, false
	}
	for series, value := range m.Counters {
		if strings.HasPrefix(series, "pilot_xds_pushes{") && !strings.HasSuffix(series, `err"}`) {
			sum, ok = sum+value, true
		}
	}
	return sum, ok
}

func pushesSaved(r *result.Result) (float64, bool) {
	n, ok := pushes(r)
	if !ok || r.Mutations == nil || r.Proxies == nil || r.Mutations.Applied*r.Proxies.Ready == 0 {
		return 0, false
	}
	return 1 - n/float64(r.Mutations.Applied*r.Proxies.Ready), true
}

func bytesReceived(r *result.Result) (sum float64, ok bool) {
	if r.Volume == nil {
		return 0, false
	}
	for _, t := range r.Volume.ByType {
		sum += float64(t.Bytes)
	}
	return sum, true
}

func cpuSeconds(r *result.Result) (float64, bool) {
	if r.ControlPlane == nil || r.ControlPlane.Steady == nil {
		return 0, false
	}
	return r.ControlPlane.Steady.CPUSeconds, true
}

func peakRSS(r *result.Result) (float64, bool) {
	if r.ControlPlane == nil || r.ControlPlane.PeakRSSBytes == nil {
		return 0, false
	}
	return float64(*r.ControlPlane.PeakRSSBytes), true
}

func nacks(r *result.Result) (float64, bool) {
	if r.Acks == nil {
		return 0, false
	}
	return float64(r.Acks.NacksInvalid + r.Acks.NacksInjected), true
}

func undelivered(r *result.Result) (float64, bool) {
	if r.Propagation == nil {
		return 0, false
	}
	return float64(r.Propagation.Undelivered), true
}

// Figure is one figure over the repeats of a setting.
type Figure struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	// Unit is "s", "bytes" or empty.
	Unit string `json:"unit,omitempty"`
	// Step is how finely it was measured, where that matters.
	Step float64 `json:"step,omitempty"`
}

// spread is the width of the range in relation to the median.
func (f Figure) spread() float64 {
	if f.Median == 0 {
		return 0
	}
	return (f.Max - f.Min) / math.Abs(f.Median)
}

// overlaps reports whether the ranges over the repeats have a value in common, or
// are no further apart than what was measured is exact: the two are then told apart
// by noise at most.
func (f Figure) overlaps(o Figure) bool {
	step := max(f.Step, o.Step)
	return f.Min <= o.Max+step && o.Min <= f.Max+step
}

// summarise makes the figures of one setting's results. What a result lacks is
// left out of that figure.
func summarise(results []*result.Result) map[string]Figure {
	all := make(map[string]Figure)
	for _, f := range figures() {
		var values []float64
		for _, r := range results {
			if value, ok := f.of(r); ok {
				values = append(values, value)
			}
		}
		if len(values) > 0 {
			x := Figure{Median: median(values), Min: slices.Min(values), Max: slices.Max(values), Unit: f.unit}
			if f.name == CPUSeconds {
				x.Step = cpuStep
			}
			all[f.name] = x
		}
	}
	return all
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
