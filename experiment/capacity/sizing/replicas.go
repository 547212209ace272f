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

// bound is one limit and the figure it is for.
type bound struct {
	name  string
	limit float64
	of    func(Prediction) *Estimate
}

func (l Limits) bounds() []bound {
	return []bound{
		{"CPU", l.CPU, func(p Prediction) *Estimate { return p.CPU }},
		{"memory", l.Memory, func(p Prediction) *Estimate { return p.Memory }},
		{"p99", l.P99, func(p Prediction) *Estimate { return p.P99 }},
		{"the knee", l.PushRate, func(p Prediction) *Estimate { return &Estimate{Value: p.PushRate, High: p.PushRate} }},
	}
}

// Replicas returns how many replicas a size needs; nil if no limit has a figure.
func (m *Model) Replicas(s Size, l Limits) *Replicas {
	r := &Replicas{}
	known, open := false, false
	for _, b := range l.bounds() {
		if b.limit <= 0 || b.of(m.At(s)) == nil {
			continue
		}
		known = true
		n := m.needed(s, b, func(e *Estimate) float64 { return e.Value })
		high := m.needed(s, b, func(e *Estimate) float64 { return e.High })
		if n == 0 {
			r.Impossible = append(r.Impossible, b.name)
		}
		if n > r.Count {
			r.Count, r.Binding = n, b.name
		}
		r.High, open = max(r.High, high), open || high == 0
	}
	switch {
	case !known:
		return nil
	case len(r.Impossible) > 0:
		return &Replicas{Impossible: r.Impossible}
	case open:
		r.High = 0
	}
	return r
}

// needed is the smallest number of replicas within the bound; zero if there is
// none. Costs do not rise as a replica's share of the proxies falls.
func (m *Model) needed(s Size, b bound, figure func(*Estimate) float64) int {
	limit := int(min(maxReplicas, max(1, s.Proxies)))
	n := 1 + sort.Search(limit, func(i int) bool {
		share := s
		share.Proxies /= float64(i + 1)
		return figure(b.of(m.At(share))) <= b.limit
	})
	if n > limit {
		return 0
	}
	return n
}
