package fakeproxy

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoffDoublesUpToItsMaximumWithFullJitter(t *testing.T) {
	b := newBackoff(DefaultSpec().Reconnect)
	rng := rand.New(rand.NewPCG(1, 2))
	bound := 500 * time.Millisecond
	for i := range 20 {
		if d := b.next(rng); d < 0 || d > bound {
			t.Errorf("delay %d is %v, want at most %v", i, d, bound)
		}
		bound = min(2*bound, 30*time.Second)
	}
	if b.bound != 30*time.Second {
		t.Errorf("bound %v after 20 attempts", b.bound)
	}
	b.reset()
	if d := b.next(rng); d > 500*time.Millisecond {
		t.Errorf("delay %v after a reset", d)
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if sleep(ctx, time.Hour) || time.Since(start) != time.Second {
			t.Errorf("slept %v", time.Since(start))
		}
		if !sleep(t.Context(), time.Minute) {
			t.Error("sleep was cut short")
		}
	})
}
