package fakeproxy

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// errOnPurpose is why a stream ended that the profile's disconnects or storms
// broke.
var errOnPurpose = errors.New("disconnected on purpose by the profile's proxies.disconnects or proxies.storms")

// disruption is the moment, since disruptions began, at which proxies drop
// their connections.
type disruption struct {
	at      time.Duration
	proxies []int
	storm   bool
}

// disconnects plans single disconnects. The plan depends on seed and spec alone.
func (d DisconnectSpec) plan(seed uint64, proxies int) iter.Seq[disruption] {
	return func(yield func(disruption) bool) {
		rng := generator(seed, drawDisconnects, 0)
		var at time.Duration
		for d.Rate > 0 {
			at += time.Duration(rng.ExpFloat64() * float64(time.Second) / float64(d.Rate))
			if !yield(disruption{at: at, proxies: []int{rng.IntN(proxies)}}) {
				return
			}
		}
	}
}

// plan plans storms. The plan depends on seed and spec alone.
func (s StormSpec) plan(seed uint64, proxies int) iter.Seq[disruption] {
	return func(yield func(disruption) bool) {
		for k := uint64(1); s.Every.Duration > 0; k++ {
			hit := chosen(generator(seed, drawStorms, k), s.Share, proxies)
			slices.Sort(hit)
			if !yield(disruption{at: time.Duration(k) * s.Every.Duration, proxies: hit, storm: true}) {
				return
			}
		}
	}
}

// disrupt carries out a plan until ctx ends.
func (f *Fleet) disrupt(ctx context.Context, plan iter.Seq[disruption]) {
	start := time.Now()
	for d := range plan {
		if !sleep(ctx, time.Until(start.Add(d.at))) {
			return
		}
		c := &f.count
		if d.storm {
			c.storms.Add(1)
		}
		for _, i := range d.proxies {
			switch {
			case !f.proxies[i].drop():
				c.missed.Add(1)
			case d.storm:
				c.stormed.Add(1)
			default:
				c.dropped.Add(1)
			}
		}
	}
}

// drop breaks the proxy's stream, and reports whether there was one.
func (p *proxy) drop() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		return false
	}
	p.sever(errOnPurpose)
	return true
}
