package fakeproxy

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is Envoy's jittered exponential back-off: each delay is uniform
// between zero and a bound that doubles up to max.
type backoff struct {
	initial, max, bound time.Duration
}

func newBackoff(s ReconnectSpec) backoff {
	return backoff{initial: s.Initial.Duration, max: s.Max.Duration, bound: s.Initial.Duration}
}

// next returns the delay before the next attempt.
func (b *backoff) next(rng *rand.Rand) time.Duration {
	d := time.Duration(rng.Int64N(int64(b.bound) + 1))
	b.bound = min(b.bound*2, b.max)
	return d
}

// reset goes back to the first bound, after a good response.
func (b *backoff) reset() { b.bound = b.initial }

// wait waits for d, or until ctx ends: then it returns why ctx ended.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
