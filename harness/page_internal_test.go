package harness

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsbench/xdsbench/event"
)

// silentCall is a call that is bounded, as those of the package target are, and never
// answered.
func silentCall(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	<-ctx.Done()
	return fmt.Errorf("no answer: %w", ctx.Err())
}

func answeredCall(context.Context) error { return nil }

// lasts returns how long a call takes.
func lasts(call func()) time.Duration {
	began := time.Now()
	call()
	return time.Since(began)
}

func TestSilentPageGetsTheWholeTimeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p page
		clock := event.NewClock()
		asked := clock.Now()
		ask := func(call func(context.Context) error) func() {
			return func() { _ = p.ask(t.Context(), clock, 0, call) }
		}
		if took := lasts(ask(silentCall)); took != 10*time.Second {
			t.Errorf("the first call took %s", took)
		}
		for range 3 {
			if took := lasts(ask(silentCall)); took != silentPageTime {
				t.Errorf("a later call took %s", took)
			}
		}
		if since, silent := p.silentSince(clock.Now()); !silent || since != asked {
			t.Errorf("silent %t since %v, asked at %v", silent, since, asked)
		}
		ask(answeredCall)()
		if _, silent := p.silentSince(clock.Now()); silent {
			t.Error("silent after an answer")
		}
		if took := lasts(ask(silentCall)); took != 10*time.Second {
			t.Errorf("the first call after an answer took %s", took)
		}
	})
}

func TestSlowPageIsNotSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p page
		clock := event.NewClock()
		slow := func(ctx context.Context) error {
			if !sleep(ctx, 4*time.Second) {
				return ctx.Err()
			}
			return nil
		}
		for range 3 { // lines of the timeline
			ctx, cancel := context.WithTimeout(t.Context(), scrapeLimit)
			if err := p.glance(ctx, clock, 0, slow); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a glance: %v", err)
			}
			cancel()
		}
		if err := p.ask(t.Context(), clock, 0, slow); err != nil {
			t.Errorf("a call with the whole time: %v", err)
		}
		if _, silent := p.silentSince(clock.Now()); silent {
			t.Error("silent")
		}
	})
}

func TestInterruptedCallCountsIfItHadLongWaited(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		after, takes time.Duration
		silent       bool
	}{
		{after: 5 * time.Second, silent: true},
		{after: time.Second},
		{after: 5 * time.Second, takes: 4 * time.Second}, // a processor profile
	} {
		t.Run(fmt.Sprint(test.after, test.takes), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var p page
				clock := event.NewClock()
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(test.after, cancel)
				if err := p.ask(ctx, clock, test.takes, silentCall); err == nil {
					t.Error("no error")
				}
				if _, silent := p.silentSince(clock.Now()); silent != test.silent {
					t.Errorf("silent %t", silent)
				}
			})
		})
	}
}

func TestPagesThatAreSilentAreNamedWithTheirReplica(t *testing.T) {
	t.Parallel()
	clock := event.NewClock()
	r := &run{clock: clock, replicas: []*replica{{}, {}}}
	r.replicas[1].metrics.missed.Store(int64(clock.Now().Add(-silenceAfter)))
	r.replicas[0].syncz.missed.Store(int64(clock.Now()))
	found := r.silentPages(clock.Now())
	if len(found) != 1 || found[0].who != "/metrics of replica 1" {
		t.Errorf("found %+v", found)
	}
}
