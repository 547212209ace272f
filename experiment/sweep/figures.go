package sweep

import (
	"math"
	"slices"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
)

// The figures that settings are weighed by; each has a median and a spread over the
// repeats. Most are metrics of the result under its own names: see docs/metrics.md.
const (
	latencyP50        = "propagation.all.p50"
	latencyP99        = "propagation.all.p99"
	lastProxyP99      = "propagation.lastProxy.p99"
	debounceMean      = "controlPlane.stages.debounce.mean"
	queueMean         = "controlPlane.stages.queue.mean"
	pushMean          = "controlPlane.stages.push.mean"
	debounceRounds    = "controlPlane.work.debounceRounds"
	mutationsPerRound = "controlPlane.stages.mutationsPerPush"
	pushes            = "controlPlane.work.pushes"
	cpuSeconds        = "controlPlane.steady.cpuSeconds"
	peakRSS           = "controlPlane.peakRSSBytes"
	undelivered       = "propagation.undelivered"

	// pushesSaved is 1 - pushes / (mutations applied * proxies ready): the share that
	// is saved of one push per mutation and proxy. It is negative where full pushes,
	// which are of several types, outnumber what is merged.
	pushesSaved = "pushesSaved"
	// bytesReceived are those of the responses to all proxies, without framing, from
	// the start of steady load.
	bytesReceived = "volume.bytes"
	// nacks are those of the whole run, for a fault in the response or on purpose.
	nacks = "acks.nacks"
)

// cpuStep is the unit in which Linux gives a process's processor time, USER_HZ
// (proc_pid_stat(5)), in seconds.
const cpuStep = 0.01

// Figure is one figure over the repeats of a setting.
type Figure struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	// Unit is "s", "bytes" or empty.
	Unit string `json:"unit,omitempty"`
	// Step is how finely it was measured, where that matters.
	Step float64 `json:"step,omitempty"`
	// Note qualifies it: "max of 60" of a quantile of too few samples.
	Note string `json:"note,omitempty"`
}

// spread is the width of the range in relation to the median.
func (f Figure) spread() float64 {
	if f.Median == 0 {
		return 0
	}
	return (f.Max - f.Min) / math.Abs(f.Median)
}

// overlaps reports whether the ranges over the repeats have a value in common, or
// are no further apart than one step of measurement: the two then differ by noise at
// most.
func (f Figure) overlaps(o Figure) bool {
	step := max(f.Step, o.Step)
	return f.Min <= o.Max+step && o.Min <= f.Max+step
}

// summarise makes the figures of one setting's results. What a result lacks is
// left out of that figure.
func summarise(results []*result.Result) map[string]Figure {
	values := make(map[string][]metric.Value)
	for _, r := range results {
		for _, v := range measured(r) {
			values[v.Name] = append(values[v.Name], v)
		}
	}
	all := make(map[string]Figure)
	for name, of := range values {
		var numbers []float64
		var notes []string
		for _, v := range of {
			numbers, notes = append(numbers, v.Number), append(notes, v.Note)
		}
		f := Figure{Median: median(numbers), Min: slices.Min(numbers), Max: slices.Max(numbers), Unit: of[0].Unit, Note: experiment.Note(notes)}
		if name == cpuSeconds {
			f.Step = cpuStep
		}
		all[name] = f
	}
	return all
}

// measured lists the figures of one result.
func measured(r *result.Result) []metric.Value {
	var all []metric.Value
	add := func(name, unit string, number float64) {
		all = append(all, metric.Value{Name: name, Unit: unit, Number: number})
	}
	for _, v := range metric.Values(r) {
		switch v.Name {
		case latencyP50, latencyP99, lastProxyP99, debounceMean, queueMean, pushMean, debounceRounds, mutationsPerRound,
			pushes, cpuSeconds, peakRSS, undelivered:
			if v.Number != 0 || !v.MayOmit {
				all = append(all, v)
			}
			if v.Name == pushes && r.Mutations != nil && r.Proxies != nil && r.Mutations.Applied*r.Proxies.Ready > 0 {
				add(pushesSaved, "", 1-v.Number/float64(r.Mutations.Applied*r.Proxies.Ready))
			}
		}
	}
	if r.Volume != nil {
		var sum int64
		for _, t := range r.Volume.ByType {
			sum += t.Bytes
		}
		add(bytesReceived, "bytes", float64(sum))
	}
	if r.Acks != nil {
		add(nacks, "", float64(r.Acks.NacksInvalid+r.Acks.NacksInjected))
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
