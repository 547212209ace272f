package harness

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPhaseEndsWhenItIsDoneOrItsTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		done := func() bool { return time.Since(began) >= 3*time.Second }
		if err := poll(t.Context(), time.Minute, done); err != nil || time.Since(began) > 3*time.Second+pollEvery {
			t.Errorf("done after %s: %v", time.Since(began), err)
		}
		began = time.Now()
		if err := poll(t.Context(), time.Second, done); !errors.Is(err, errLimit) || time.Since(began) != time.Second {
			t.Errorf("limit after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began = time.Now()
		if err := poll(ctx, time.Minute, done); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("interrupted after %s: %v", time.Since(began), err)
		}
	})
}

func TestSleepTellsWhetherItWasInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		if !sleep(ctx, time.Second) {
			t.Error("a whole sleep counts as interrupted")
		}
		time.AfterFunc(time.Second, cancel)
		if took := lasts(func() {
			if sleep(ctx, time.Hour) {
				t.Error("an interrupted sleep counts as whole")
			}
		}); took != time.Second {
			t.Errorf("it took %s", took)
		}
	})
}
