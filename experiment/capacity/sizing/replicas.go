package sizing

import "sort"

// maxReplicas bounds the search for a number of replicas.
const maxReplicas = 10_000

// Limits are what one replica may use. A limit of zero does not bind.
type Limits struct {
	CPU    float64 `json:"cpuCores,omitempty"`
	Memory float64 `json:"memoryBytes,omitempty"`
	// P99 is the SLO's, in seconds.
	P99 float64 `json:"p99Seconds,omitempty"`
	// PushRate is the load at the found capacity, in pushes per second.
	PushRate float64 `json:"pushesPerSecond,omitempty"`
}

// Replicas is how many are needed if proxies are spread evenly and every replica
// holds all services and sees all mutations.
type Replicas struct {
	// Count is by the estimates, High by the upper ends of their intervals; zero
	// if no number is enough.
	Count int `json:"count"`
	High  int `json:"high"`
	// Binding is the limit that asks for the most: "CPU", "memory", "p99" or
	// "the knee".
	Binding string `json:"binding"`
	// Impossible names the limits that one proxy alone would break.
	Impossible []string `json:"impossible,omitempty"`
}

// bound is one limit and the figure it is for; high takes the interval's end.
type bound struct {
	name  string
	limit float64
	of    func(p Prediction, high bool) (float64, bool)
}

func (l Limits) bounds() []bound {
	from := func(figure func(Prediction) *Estimate) func(Prediction, bool) (float64, bool) {
		return func(p Prediction, high bool) (float64, bool) {
			e := figure(p)
			switch {
			case e == nil:
				return 0, false
			case high:
				return e.High, true
			}
			return e.Value, true
		}
	}
	return []bound{
		{"CPU", l.CPU, from(func(p Prediction) *Estimate { return p.CPU })},
		{"memory", l.Memory, from(func(p Prediction) *Estimate { return p.Memory })},
		{"p99", l.P99, from(func(p Prediction) *Estimate { return p.P99 })},
		{"the knee", l.PushRate, func(p Prediction, _ bool) (float64, bool) { return p.PushRate, true }},
	}
}

// Replicas returns how many replicas a size needs; nil if no limit has a figure.
func (m *Model) Replicas(s Size, l Limits) *Replicas {
	r := &Replicas{}
	possible, known := true, false
	for _, b := range l.bounds() {
		if _, ok := b.of(m.At(s), false); !ok || b.limit <= 0 {
			continue
		}
		known = true
		n, high := m.least(s, b, false), m.least(s, b, true)
		if n == 0 {
			r.Impossible = append(r.Impossible, b.name)
			possible = false
		}
		if n > r.Count {
			r.Count, r.Binding = n, b.name
		}
		if high == 0 || r.High < 0 {
			r.High = -1
		} else {
			r.High = max(r.High, high)
		}
	}
	if !known {
		return nil
	}
	r.High = max(r.High, 0)
	if !possible {
		r.Count, r.High, r.Binding = 0, 0, ""
	}
	return r
}

// least is the smallest number of replicas within the bound; zero if there is
// none. Costs do not rise as a replica's share of the proxies falls.
func (m *Model) least(s Size, b bound, high bool) int {
	limit := int(min(maxReplicas, max(1, s.Proxies)))
	n := 1 + sort.Search(limit, func(i int) bool {
		share := s
		share.Proxies /= float64(i + 1)
		v, _ := b.of(m.At(share), high)
		return v <= b.limit
	})
	if n > limit {
		return 0
	}
	return n
}
