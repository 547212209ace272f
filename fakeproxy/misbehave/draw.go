package misbehave

import (
	"math"
	"math/rand/v2"
	"time"
)

// What is drawn from a seed, each by a generator of its own, so that one
// behaviour does not depend on whether another is on.
const (
	drawNacks = iota + 1<<32
	drawDelays
	drawSlow
	drawHalfOpen
	drawDisconnects
	drawStorms
)

// generator draws one thing from the seed, for one proxy or one occasion.
func generator(seed, what, i uint64) *rand.Rand { return rand.New(rand.NewPCG(seed^what<<16, i)) }

// chosen draws a share of n proxies: rounded, but at least one of a share above 0.
func chosen(rng *rand.Rand, share float64, n int) []int {
	if share <= 0 {
		return nil
	}
	k := max(1, int(math.Round(share*float64(n))))
	return rng.Perm(n)[:min(k, n)]
}

// Draws returns what draws a proxy's rejections; nil if there are none.
func (n Nack) Draws(seed uint64, proxy int) *rand.Rand {
	if n.Rate <= 0 {
		return nil
	}
	return generator(seed, drawNacks, uint64(proxy))
}

// Draws returns what draws a proxy's delays; nil if there are none.
func (d Delay) Draws(seed uint64, proxy int) *rand.Rand {
	if d.isZero() {
		return nil
	}
	return generator(seed, drawDelays, uint64(proxy))
}

// Proxies returns the indices of those that read slowly, of n proxies.
func (s SlowRead) Proxies(seed uint64, n int) []int {
	return chosen(generator(seed, drawSlow, 0), s.Share, n)
}

// Proxies returns the indices of those that stop reading, of n proxies.
func (h HalfOpen) Proxies(seed uint64, n int) []int {
	return chosen(generator(seed, drawHalfOpen, 0), h.Share, n)
}

// isZero reports whether there is no delay at all.
func (d Delay) isZero() bool { return d.Value.Duration+d.Max.Duration+d.Mean.Duration == 0 }

// Draw returns one delay.
func (d Delay) Draw(rng *rand.Rand) time.Duration {
	switch d.Distribution {
	case Uniform:
		return d.Min.Duration + time.Duration(rng.Int64N(int64(d.Max.Duration-d.Min.Duration)+1))
	case Exponential:
		return time.Duration(rng.ExpFloat64() * float64(d.Mean.Duration))
	default:
		return d.Value.Duration
	}
}
