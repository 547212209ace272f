package misbehave

import (
	"iter"
	"slices"
	"time"
)

// Disruption is the moment, since disruptions began, at which proxies drop
// their connections.
type Disruption struct {
	At      time.Duration
	Proxies []int // by index
	Storm   bool
}

// Plan plans single disconnects. The plan depends on seed and spec alone.
func (d Disconnects) Plan(seed uint64, proxies int) iter.Seq[Disruption] {
	return func(yield func(Disruption) bool) {
		rng := generator(seed, drawDisconnects, 0)
		var at time.Duration
		for d.Rate > 0 {
			at += time.Duration(rng.ExpFloat64() * float64(time.Second) / float64(d.Rate))
			if !yield(Disruption{At: at, Proxies: []int{rng.IntN(proxies)}}) {
				return
			}
		}
	}
}

// Plan plans storms. The plan depends on seed and spec alone.
func (s Storms) Plan(seed uint64, proxies int) iter.Seq[Disruption] {
	return func(yield func(Disruption) bool) {
		for k := uint64(1); s.Every.Duration > 0; k++ {
			hit := chosen(generator(seed, drawStorms, k), s.Share, proxies)
			slices.Sort(hit)
			if !yield(Disruption{At: time.Duration(k) * s.Every.Duration, Proxies: hit, Storm: true}) {
				return
			}
		}
	}
}
