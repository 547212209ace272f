package churn

import (
	"math/rand/v2"
	"time"
)

// pace draws the times of one entry's operations, in order.
type pace struct {
	// gap is the mean time between two writes, in nanoseconds.
	gap     float64
	poisson bool
	rng     *rand.Rand
	// at is the time reached, in nanoseconds from the start; a float64 holds
	// days of it without loss.
	at float64
}

// newPace sets the time of the entry's first operation: a phase drawn within its
// interval, so that several entries do not move in step, or one exponential gap.
func newPace(s Spec, rng *rand.Rand) *pace {
	p := &pace{gap: float64(time.Second) / float64(s.Rate), poisson: s.Schedule == poisson, rng: rng}
	first := s.writes()
	if s.Kind == RollingUpdate {
		first = 1
	}
	if p.poisson {
		p.advance(first)
		return p
	}
	p.at = rng.Float64() * float64(first) * p.gap
	return p
}

// advance moves on by the time between two operations of this many writes.
func (p *pace) advance(writes int) {
	mean := p.gap * float64(writes)
	if p.poisson {
		// Exponential gaps make a Poisson process: https://en.wikipedia.org/wiki/Poisson_point_process
		p.at += p.rng.ExpFloat64() * mean
		return
	}
	p.at += mean
}

// now returns the time reached.
func (p *pace) now() time.Duration { return time.Duration(p.at) }
