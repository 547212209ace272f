package churn

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// window is the part of the steady time in which an entry starts operations.
type window struct{ start, end time.Duration }

func (w window) length() time.Duration { return max(w.end-w.start, 0) }

func (s Spec) window(steady time.Duration) window {
	w := window{s.Start.Duration, steady}
	if s.For.Duration > 0 {
		w.end = min(w.end, w.start+s.For.Duration)
	}
	return w
}

// pace draws the times of one entry's operations, in order. They are given by times, or
// by a rate that changes with time and the writes that operations make.
type pace struct {
	window

	times []time.Duration // relative to the window
	next  int

	rates   []segment
	poisson bool
	rng     *rand.Rand
	writes  float64 // that the operations up to now make
	at      time.Duration
}

// segment is a part of the window in which the rate, in writes per second, goes evenly
// from one value to another.
type segment struct {
	length   float64 // seconds
	from, to float64
}

// newPace sets the time of the entry's first operation: a phase drawn within its
// interval, so that several entries do not move in step, or one exponential gap. A burst
// begins with the window.
func newPace(s Spec, w window, rng *rand.Rand) *pace {
	p := &pace{window: w, poisson: s.Schedule == poisson, rng: rng}
	switch {
	case s.Schedule == burst:
		p.times = []time.Duration{}
		for at := time.Duration(0); at < w.length() && len(p.times) < maxCount; at += s.Every.Duration {
			p.times = append(p.times, slices.Repeat([]time.Duration{at}, s.N)...)
		}
		return p
	case s.Count > 0:
		p.times = spread(s.Count, w.length(), p.poisson, rng)
		return p
	}
	p.rates = s.segments(w.length().Seconds(), rng)
	first := traitOf(s.Kind).writes
	if s.paced() {
		first = 1
	}
	if p.poisson {
		p.advance(first)
		return p
	}
	p.writes = rng.Float64() * float64(first)
	p.at = p.reach(p.writes)
	return p
}

// spread returns n times within a length: evenly with a drawn phase, or drawn, which is
// a Poisson process of which the count is known.
func spread(n int, length time.Duration, drawn bool, rng *rand.Rand) []time.Duration {
	out := make([]time.Duration, n)
	phase := rng.Float64()
	for i := range out {
		at := (float64(i) + phase) / float64(n)
		if drawn {
			at = rng.Float64()
		}
		out[i] = time.Duration(at * float64(length))
	}
	slices.Sort(out)
	return out
}

// segments returns the rate over a window of this many seconds.
func (s Spec) segments(length float64, rng *rand.Rand) []segment {
	r := float64(s.Rate)
	switch s.Schedule {
	case ramp:
		return []segment{{length, r, float64(s.RateTo)}}
	case steps:
		out := make([]segment, len(s.Rates))
		for i, r := range s.Rates {
			out[i] = segment{length / float64(len(s.Rates)), float64(r), float64(r)}
		}
		return out
	case onOff:
		var out []segment
		draw := func(d time.Duration) float64 {
			return max(d.Seconds()*(1+s.Jitter*(2*rng.Float64()-1)), 1e-3)
		}
		for done := 0.0; done < length; {
			on, off := draw(s.On.Duration), draw(s.Off.Duration)
			out = append(out, segment{on, r, r}, segment{off, 0, 0})
			done += on + off
		}
		return out
	default:
		return []segment{{length, r, r}}
	}
}

// reach returns when that many writes are due; the end of the window if never.
func (p *pace) reach(writes float64) time.Duration {
	seconds := 0.0
	for _, s := range p.rates {
		if area := (s.from + s.to) / 2 * s.length; writes >= area {
			writes -= area
			seconds += s.length
			continue
		}
		// Of from*x + slope*x*x/2 = writes the root that also holds without a slope.
		slope := (s.to - s.from) / s.length
		seconds += 2 * writes / (s.from + math.Sqrt(s.from*s.from+2*slope*writes))
		return p.start + time.Duration(seconds*float64(time.Second))
	}
	return p.end
}

// advance moves on by the time between two operations of this many writes.
func (p *pace) advance(writes int) {
	p.next++
	if p.times != nil {
		return
	}
	n := float64(writes)
	if p.poisson {
		// Exponential gaps make a Poisson process: https://en.wikipedia.org/wiki/Poisson_point_process
		n *= p.rng.ExpFloat64()
	}
	p.writes += n
	p.at = p.reach(p.writes)
}

// now returns the time reached, from the start of steady load.
func (p *pace) now() time.Duration {
	if p.times == nil {
		return p.at
	}
	if p.next < len(p.times) {
		return p.start + p.times[p.next]
	}
	return p.end
}

// over reports whether the window has ended.
func (p *pace) over() bool {
	return p.now() >= p.end || p.times != nil && p.next >= len(p.times)
}

// gap is the mean time between two writes, of a rate that stays.
func (p *pace) gap() float64 { return float64(time.Second) / p.rates[0].from }
