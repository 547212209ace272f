package sizing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Model is what the points say of the cost. A fit that they do not allow is nil,
// and a note says why.
type Model struct {
	Memory  *Fit `json:"memory,omitempty"`
	CPU     *Fit `json:"cpu,omitempty"`
	Connect *Fit `json:"connectCPU,omitempty"`
	Latency *USL `json:"latency,omitempty"`
	// ConfigBytes and BytesPerPush are of one proxy.
	ConfigBytes  *Fit `json:"configBytesPerProxy,omitempty"`
	BytesPerPush *Fit `json:"bytesPerPush,omitempty"`
	// PushesPerMutation is how many pushes each mutation became for each proxy, by
	// the mutations per second.
	PushesPerMutation []ratio `json:"pushesPerMutation,omitempty"`
	// Harness is the CPU that the harness uses beside the control plane.
	Harness *Fit `json:"harnessCPU,omitempty"`
	// LeftOut are points that are not in the fits of CPU and latency.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	Notes   []string  `json:"notes,omitempty"`
}

// ratio is what was measured at a rate of mutations.
type ratio struct {
	Rate  float64 `json:"mutationsPerSecond"`
	Value float64 `json:"value"`
}

// LeftOut is a point that was not used, and why.
type LeftOut struct {
	Run     string   `json:"run"`
	Reasons []string `json:"reasons"`
}

// NewModel fits the points.
func NewModel(points []Point) *Model {
	m := &Model{}
	var valid, ready []Point
	for _, p := range points {
		if len(p.Questionable) == 0 {
			valid = append(valid, p)
		} else {
			m.LeftOut = append(m.LeftOut, LeftOut{p.Run, p.Questionable})
		}
		if float64(p.Ready) >= p.Proxies {
			ready = append(ready, p)
		}
	}
	m.Memory = m.fit(ready, fitter{
		name: "memory", unit: "bytes", cost: func(p Point) *float64 { return p.PeakRSS },
		terms: []term{
			constant("fixed", "bytes"),
			{"per proxy", "bytes", proxies},
			{"per service", "bytes", services},
			{"per endpoint", "bytes", allEndpoints},
			perHeldByte("bytes"),
		},
	})
	cpu := fitter{
		name: "CPU", unit: "cores", cost: func(p Point) *float64 { return p.Cores },
		terms: []term{
			constant("idle", "cores"),
			{"per push", "s", func(p Point) float64 { return p.PushRate * p.Duty }},
			{"per byte pushed", "s", func(p Point) float64 { return p.ByteRate * p.Duty }},
		},
	}
	m.CPU = m.fit(valid, cpu)
	m.Connect = m.fit(valid, fitter{
		name: "connect CPU", unit: "s", cost: func(p Point) *float64 { return p.ConnectCPU },
		terms: []term{constant("fixed", "s"), {"per proxy", "s", proxies}, perHeldByte("s")},
	})
	m.ConfigBytes = m.fit(valid, fitter{
		name: "configuration of a proxy", unit: "bytes", cost: func(p Point) *float64 { return positive(p.ConfigBytes) },
		terms: []term{
			constant("fixed", "bytes"),
			{"per service", "bytes", services},
			{"per endpoint", "bytes", allEndpoints},
		},
	})
	m.BytesPerPush = m.fit(valid, fitter{
		name: "size of a push", unit: "bytes", cost: func(p Point) *float64 { return positive(p.bytesPerPush()) },
		terms: []term{
			constant("fixed", "bytes"),
			{"per endpoint of a service", "bytes", endpoints},
			{"per endpoint of all services", "bytes", allEndpoints},
		},
	})
	var note string
	m.Latency, note = fitUSL(valid)
	m.note(note)
	m.PushesPerMutation = ratios(valid)
	cpu.name, cpu.cost = "harness CPU", func(p Point) *float64 { return p.HarnessCores }
	m.Harness, _ = cpu.fit(valid) // without it no prediction is limited, and no note is due
	m.noteSettings(points)
	return m
}

// fit makes a fit, and notes why if it cannot.
func (m *Model) fit(points []Point, f fitter) *Fit {
	fit, note := f.fit(points)
	m.note(note)
	return fit
}

func (m *Model) note(note string) {
	if note != "" {
		m.Notes = append(m.Notes, note)
	}
}

func positive(x float64) *float64 {
	if x <= 0 {
		return nil
	}
	return &x
}

// noteSettings warns of points that differ in more than size and load.
func (m *Model) noteSettings(points []Point) {
	settings := make(map[string]int)
	for _, p := range points {
		settings[p.Setting]++
	}
	if len(settings) < 2 {
		return
	}
	var texts []string
	for _, s := range slices.Sorted(maps.Keys(settings)) {
		texts = append(texts, fmt.Sprintf("%d runs of %s", settings[s], s))
	}
	m.note("the runs differ in more than size and load, so the fits mix unlike things: " + strings.Join(texts, "; "))
}

// ratios are the mean pushes per mutation and proxy at each rate, by rate.
func ratios(points []Point) []ratio {
	sums, counts := make(map[float64]float64), make(map[float64]float64)
	for _, p := range points {
		if p.PushesPerMutation > 0 {
			sums[p.Rate] += p.PushesPerMutation
			counts[p.Rate]++
		}
	}
	var all []ratio
	for _, r := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, ratio{r, sums[r] / counts[r]})
	}
	return all
}

// ratioAt interpolates between the two rates around it; beyond the measured ones
// it is that of the nearest.
func ratioAt(all []ratio, rate float64) float64 {
	i, found := slices.BinarySearchFunc(all, rate, func(r ratio, rate float64) int { return cmp.Compare(r.Rate, rate) })
	switch {
	case len(all) == 0:
		return 0
	case found, i == 0:
		return all[i].Value
	case i == len(all):
		return all[i-1].Value
	}
	a, b := all[i-1], all[i]
	return a.Value + (b.Value-a.Value)*(rate-a.Rate)/(b.Rate-a.Rate)
}
