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
	PushesPerMutation []Ratio `json:"pushesPerMutation,omitempty"`
	// Harness is what the harness uses beside the control plane.
	Harness *Fit `json:"harnessCPU,omitempty"`
	// LeftOut are points that are not in the fits of CPU and latency.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	Notes   []string  `json:"notes,omitempty"`
}

// Ratio is what was measured at a rate of mutations.
type Ratio struct {
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
	var good []Point
	for _, p := range points {
		if p.usable() {
			good = append(good, p)
		} else {
			m.LeftOut = append(m.LeftOut, LeftOut{p.Run, p.Doubts})
		}
	}
	ready := having(points, func(p Point) *float64 {
		if float64(p.Ready) < p.Proxies {
			return nil
		}
		return p.PeakRSS
	})
	m.Memory = m.keep(memoryFitter().fit(ready))
	m.CPU = m.keep(cpuFitter().fit(having(good, func(p Point) *float64 { return p.Cores })))
	m.Connect = m.keep(connectFitter().fit(having(good, func(p Point) *float64 { return p.ConnectCPU })))
	m.ConfigBytes = m.keep(configFitter().fit(having(good, func(p Point) *float64 { return positive(p.ConfigBytes) })))
	m.BytesPerPush = m.keep(pushFitter().fit(having(good, func(p Point) *float64 { return positive(p.ByteRate) })))
	var note string
	m.Latency, note = fitUSL(having(good, func(p Point) *float64 { return p.P99 }))
	m.note(note)
	m.PushesPerMutation = ratios(good)
	// Without it nothing is known to be short of processors, and no note is due.
	m.Harness, _ = harnessFitter().fit(having(good, func(p Point) *float64 { return p.HarnessCores }))
	m.noteSettings(points)
	return m
}

func positive(x float64) *float64 {
	if x <= 0 {
		return nil
	}
	return &x
}

// having returns the points that have a figure.
func having(points []Point, figure func(Point) *float64) []Point {
	var found []Point
	for _, p := range points {
		if figure(p) != nil {
			found = append(found, p)
		}
	}
	return found
}

func (m *Model) keep(f *Fit, note string) *Fit {
	m.note(note)
	return f
}

func (m *Model) note(note string) {
	if note != "" {
		m.Notes = append(m.Notes, note)
	}
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

func proxies(p Point) float64 { return p.Proxies }

func endpoints(p Point) float64 { return p.Services * p.Endpoints }

func held(p Point) float64 { return p.Proxies * p.ConfigBytes }

func memoryFitter() fitter {
	return fitter{
		name: "memory", unit: "bytes", inflation: maxInflation,
		cost: func(p Point) float64 { return *p.PeakRSS },
		terms: []term{
			constant("fixed", "bytes"),
			{"per proxy", "bytes", proxies},
			{"per service", "bytes", func(p Point) float64 { return p.Services }},
			{"per endpoint", "bytes", endpoints},
			{"per byte of configuration that proxies hold", "bytes", held},
		},
	}
}

func cpuFitter() fitter {
	return fitter{
		name: "CPU", unit: "cores", inflation: maxInflation,
		cost: func(p Point) float64 { return *p.Cores },
		terms: []term{
			constant("idle", "cores"),
			{"per push", "s", func(p Point) float64 { return p.PushRate * p.Duty }},
			{"per byte pushed", "s", func(p Point) float64 { return p.ByteRate * p.Duty }},
		},
	}
}

func harnessFitter() fitter {
	f := cpuFitter()
	f.name, f.cost = "harness CPU", func(p Point) float64 { return *p.HarnessCores }
	return f
}

func connectFitter() fitter {
	return fitter{
		name: "connect CPU", unit: "s", inflation: maxInflation,
		cost: func(p Point) float64 { return *p.ConnectCPU },
		terms: []term{
			constant("fixed", "s"),
			{"per proxy", "s", proxies},
			{"per byte of configuration that proxies hold", "s", held},
		},
	}
}

func configFitter() fitter {
	return fitter{
		name: "configuration of a proxy", unit: "bytes", inflation: maxInflation,
		cost: func(p Point) float64 { return p.ConfigBytes },
		terms: []term{
			constant("fixed", "bytes"),
			{"per service", "bytes", func(p Point) float64 { return p.Services }},
			{"per endpoint", "bytes", endpoints},
		},
	}
}

func pushFitter() fitter {
	return fitter{
		name: "size of a push", unit: "bytes", inflation: maxInflation,
		cost: Point.BytesPerPush,
		terms: []term{
			constant("fixed", "bytes"),
			{"per endpoint of a service", "bytes", func(p Point) float64 { return p.Endpoints }},
			{"per endpoint of all services", "bytes", endpoints},
		},
	}
}

// ratios are the mean pushes per mutation and proxy at each rate, by rate.
func ratios(points []Point) []Ratio {
	sums, counts := make(map[float64]float64), make(map[float64]float64)
	for _, p := range points {
		if p.PushesPerMutation > 0 {
			sums[p.Rate] += p.PushesPerMutation
			counts[p.Rate]++
		}
	}
	var all []Ratio
	for r, sum := range sums {
		all = append(all, Ratio{r, sum / counts[r]})
	}
	slices.SortFunc(all, func(a, b Ratio) int { return cmp.Compare(a.Rate, b.Rate) })
	return all
}

// ratioAt interpolates between the two rates around it; beyond the measured ones
// it is that of the nearest.
func ratioAt(all []Ratio, rate float64) float64 {
	if len(all) == 0 {
		return 0
	}
	i, found := slices.BinarySearchFunc(all, rate, func(r Ratio, rate float64) int { return cmp.Compare(r.Rate, rate) })
	switch {
	case found:
		return all[i].Value
	case i == 0:
		return all[0].Value
	case i == len(all):
		return all[i-1].Value
	}
	a, b := all[i-1], all[i]
	return a.Value + (b.Value-a.Value)*(rate-a.Rate)/(b.Rate-a.Rate)
}
