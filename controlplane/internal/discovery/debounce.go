package discovery

import (
	"context"
	"sync"
	"time"

	"github.com/xdsbench/xdsbench/controlplane/internal/registry"
)

// debouncer collects updates until none has come for a quiet time, or until
// the first of them has waited too long, and pushes them merged. One push runs
// at a time; what arrives meanwhile is merged into the next one. The rules are
// istiod's.
type debouncer struct {
	after     time.Duration // quiet time
	max       time.Duration // longest wait since the first update
	eds       bool          // false pushes endpoint-only updates at once
	push      func(*registry.Update)
	debounced func(time.Duration) // told the time from the first update until push returned; may be nil
}

// debounceState is what run keeps from one event to the next.
type debounceState struct {
	pending *registry.Update
	first   time.Time // when the first update of pending came
	last    time.Time // when its last one came
	pushing bool
	timer   *time.Timer
	done    chan struct{}
	wg      sync.WaitGroup
}

// run serves until ctx is done, then waits for the pushes it started.
func (d *debouncer) run(ctx context.Context, updates <-chan *registry.Update) {
	s := &debounceState{timer: time.NewTimer(time.Hour), done: make(chan struct{}, 1)}
	s.timer.Stop()
	defer s.wg.Wait()
	defer s.timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-updates:
			if !d.eds && !u.Full {
				s.wg.Go(func() { d.push(u) })
				continue
			}
			d.add(s, u)
		case <-s.timer.C:
			d.pushIfDue(s)
		case <-s.done:
			s.pushing = false
			d.pushIfDue(s)
		}
	}
}

func (d *debouncer) add(s *debounceState, u *registry.Update) {
	s.last = time.Now()
	if s.pending == nil {
		s.first = s.last
		s.pending = u
		s.timer.Reset(d.after)
		return
	}
	s.pending = s.pending.Merge(u)
}

// pushIfDue pushes if it is time, and otherwise sets the timer for when it will
// be, should nothing more arrive.
func (d *debouncer) pushIfDue(s *debounceState) {
	if s.pending == nil || s.pushing {
		return
	}
	quiet, waited := time.Since(s.last), time.Since(s.first)
	if quiet < d.after && waited < d.max {
		s.timer.Reset(min(d.after-quiet, d.max-waited))
		return
	}
	u, first := s.pending, s.first
	s.pending = nil
	s.pushing = true
	s.wg.Go(func() {
		d.push(u)
		if d.debounced != nil {
			d.debounced(time.Since(first))
		}
		s.done <- struct{}{}
	})
}
