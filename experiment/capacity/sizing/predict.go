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
func (m *Model) At(s Size) Prediction { return m.predict(m.point(s, 1)) }

// Like predicts what a run measures, from its size and from how much of the time
// that its CPU is a mean of had load. Where the control plane and the harness together
// would take more than the machine has, pushes merge, and each is predicted to get
// its share of that demand.
func (m *Model) Like(run Point) Prediction {
	p := m.point(run.Size, run.Duty)
	out := m.predict(p)
	if e := out.CPU; e != nil && m.Harness != nil && run.CPUs > 0 {
		if want := e.Value + m.Harness.at(p).Value; want > float64(run.CPUs) {
			most := float64(run.CPUs) * e.Value / want
			e.Value, e.Low, e.High, e.Demand = most, min(e.Low, most), min(e.High, most), e.Value
		}
	}
	return out
}

// point is what a run of this size would most likely measure of its load.
func (m *Model) point(s Size, duty float64) Point {
	p := Point{Size: s, Ready: int(s.Proxies), Duty: duty}
	p.PushesPerMutation = ratioAt(m.PushesPerMutation, s.Rate)
	p.PushRate = s.Rate * s.Proxies * p.PushesPerMutation
	if e := m.BytesPerPush.at(p); e != nil {
		p.ByteRate = p.PushRate * e.Value
	}
	if e := m.ConfigBytes.at(p); e != nil {
		p.ConfigBytes = e.Value
	}
	return p
}

func (m *Model) predict(p Point) Prediction {
	out := Prediction{
		Size: p.Size, PushRate: p.PushRate, BytesPerPush: p.bytesPerPush(), ConfigBytes: p.ConfigBytes,
		Memory: m.Memory.at(p), ConnectCPU: m.Connect.at(p),
	}
	if len(m.PushesPerMutation) > 0 {
		out.CPU = m.CPU.at(p)
		if m.Latency != nil {
			out.P99 = m.Latency.at(p)
		}
	}
	return out
}

// outside lists the quantities of p beyond the range of the fitted points: those
// that the cost depends on, whether or not the points told their terms apart.
func (f *Fit) outside(p Point) []Beyond {
	type quantity struct {
		name string
		of   func(Point) float64
	}
	quantities := []quantity{{"proxies", proxies}, {"services", services}, {"endpoints per service", endpoints}}
	if f.Name == "CPU" || f.Name == latencyName {
		quantities = append(quantities, quantity{"mutations/s", rate}, quantity{loadPushes, pushRate})
	}
	var found []Beyond
	for _, q := range quantities {
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
