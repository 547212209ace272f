package sizing

import "math"

// beyond is how far out of the measured range a quantity may be before it counts
// as extrapolation: a tenth, since rates differ a little from run to run.
const beyond = 1.1

// Estimate is a predicted figure with its 95 % interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Demand is what the load would take where the machine has less; Value is then
	// what the machine has.
	Demand float64 `json:"demand,omitempty"`
	// Extrapolated lists the quantities that lie outside the measured range.
	Extrapolated []Beyond `json:"extrapolated,omitempty"`
}

// Beyond is a quantity outside of the range from Low to High that was measured.
// Factor is by how much: of the high end if above 1, else of the low one.
type Beyond struct {
	Quantity string  `json:"quantity"`
	Value    float64 `json:"value"`
	Factor   float64 `json:"factor"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// Prediction is what the model says of a size. A figure whose fit is missing is nil.
type Prediction struct {
	Size
	PushRate     float64 `json:"pushesPerSecond"`
	BytesPerPush float64 `json:"bytesPerPush"`
	ConfigBytes  float64 `json:"configBytesPerProxy"`
	// CPU is in cores, Memory in bytes, P99 in seconds, ConnectCPU the CPU seconds
	// of starting and connecting all proxies. All are of one replica that has all
	// the load.
	CPU        *Estimate `json:"cpuCores,omitempty"`
	Memory     *Estimate `json:"memoryBytes,omitempty"`
	P99        *Estimate `json:"p99Seconds,omitempty"`
	ConnectCPU *Estimate `json:"connectCPUSeconds,omitempty"`
	Replicas   *Replicas `json:"replicas,omitempty"`
}

// At predicts the cost at a size. The pushes are the size's mutations times its
// proxies times the measured pushes per mutation; their bytes, and what a proxy
// holds, are linear in services and endpoints.
func (m *Model) At(s Size) Prediction { return m.at(s, 1) }

// Like predicts what a run measures, from its size and from how much of the time
// that its CPU is a mean of had load. Where the control plane and the harness together
// would take more than the machine has, pushes merge, and each is predicted to get
// what is its share of that demand.
func (m *Model) Like(p Point) Prediction {
	out := m.at(p.Size, p.Duty)
	e := out.CPU
	if e == nil || m.Harness == nil || p.CPUs == 0 {
		return out
	}
	at := m.point(p.Size)
	at.Duty = p.Duty
	if want := e.Value + m.Harness.at(at).Value; want > float64(p.CPUs) {
		most := float64(p.CPUs) * e.Value / want
		e.Demand = e.Value
		e.Value, e.Low, e.High = most, min(e.Low, most), min(e.High, most)
	}
	return out
}

func (m *Model) at(s Size, duty float64) Prediction {
	p := m.point(s)
	p.Duty = duty
	out := Prediction{Size: s, PushRate: p.PushRate, BytesPerPush: p.BytesPerPush(), ConfigBytes: p.ConfigBytes}
	out.Memory = m.estimate(m.Memory, p)
	out.ConnectCPU = m.estimate(m.Connect, p)
	if len(m.PushesPerMutation) > 0 {
		out.CPU = m.estimate(m.CPU, p)
		if m.Latency != nil {
			out.P99 = m.estimate(m.Latency.Fit, p)
		}
	}
	return out
}

// point is what a run of this size would most likely measure of its load.
func (m *Model) point(s Size) Point {
	p := Point{Size: s, Ready: int(s.Proxies)}
	p.PushesPerMutation = ratioAt(m.PushesPerMutation, s.Rate)
	p.PushRate = s.Rate * s.Proxies * p.PushesPerMutation
	if m.BytesPerPush != nil {
		p.ByteRate = p.PushRate * m.BytesPerPush.at(p).Value
	}
	if m.ConfigBytes != nil {
		p.ConfigBytes = m.ConfigBytes.at(p).Value
	}
	return p
}

func (m *Model) estimate(f *Fit, p Point) *Estimate {
	if f == nil {
		return nil
	}
	e := f.at(p)
	e.Extrapolated = f.outside(p)
	return &e
}

// quantity is what a fit is valid for a range of.
type quantity struct {
	name string
	of   func(Point) float64
}

// quantities are those that the cost of this name depends on, whether or not the
// points told their terms apart.
func quantities(fit string) []quantity {
	all := []quantity{
		{"proxies", proxies},
		{"services", func(p Point) float64 { return p.Services }},
		{"endpoints per service", func(p Point) float64 { return p.Endpoints }},
	}
	switch fit {
	case "CPU", "latency p99":
		all = append(all, quantity{"mutations/s", func(p Point) float64 { return p.Rate }},
			quantity{"pushes/s", func(p Point) float64 { return p.PushRate }})
	}
	return all
}

// outside lists the quantities of p beyond the range of the fitted points.
func (f *Fit) outside(p Point) []Beyond {
	var found []Beyond
	for _, q := range quantities(f.Name) {
		low, high := math.Inf(1), math.Inf(-1)
		for _, x := range f.points {
			low, high = min(low, q.of(x)), max(high, q.of(x))
		}
		switch v := q.of(p); {
		case v > high*beyond:
			found = append(found, Beyond{q.name, v, v / high, low, high})
		case v < low/beyond:
			found = append(found, Beyond{q.name, v, v / low, low, high})
		}
	}
	return found
}
