package controlplane

import (
	"context"
	"sync"
	"time"
)

// debouncer collects updates until none has come for a quiet time, or until
// the first of them has waited too long, and pushes them merged. One push runs
// at a time; what arrives meanwhile is merged into the next one. The rules are
// istiod's.
type debouncer struct {
	after  time.Duration // quiet time
	limit  time.Duration // longest wait since the first update
	eds    bool          // false pushes endpoint-only updates at once
	push   func(*update)
	record func(time.Duration) // time from first update until push returned; may be nil
}

// debounceState is what run keeps between events.
type debounceState struct {
	pending *update
	first   time.Time // when pending began
	last    time.Time // when pending last grew
	pushing bool
	timer   *time.Timer
	done    chan struct{}
	wg      sync.WaitGroup
}

// run serves until ctx is done, then waits for the pushes it started.
func (d *debouncer) run(ctx context.Context, updates <-chan *update) {
	s := &debounceState{timer: time.NewTimer(time.Hour), done: make(chan struct{}, 1)}
	s.timer.Stop()
	defer s.wg.Wait()
	defer s.timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-updates:
			if !d.eds && !u.full {
				s.wg.Go(func() { d.push(u) })
				continue
			}
			d.add(s, u)
		case <-s.timer.C:
			d.fire(s)
		case <-s.done:
			s.pushing = false
			d.fire(s)
		}
	}
}

func (d *debouncer) add(s *debounceState, u *update) {
	s.last = time.Now()
	if s.pending == nil {
		s.first = s.last
		s.pending = u
		s.timer.Reset(d.after)
		return
	}
	s.pending = s.pending.merge(u)
}

// fire pushes if it is time, and otherwise sets the timer for the moment at
// which it would be, should nothing more arrive.
func (d *debouncer) fire(s *debounceState) {
	if s.pending == nil || s.pushing {
		return
	}
	quiet, waited := time.Since(s.last), time.Since(s.first)
	if quiet < d.after && waited < d.limit {
		s.timer.Reset(min(d.after-quiet, d.limit-waited))
		return
	}
	u, first := s.pending, s.first
	s.pending = nil
	s.pushing = true
	s.wg.Go(func() {
		d.push(u)
		if d.record != nil {
			d.record(time.Since(first))
		}
		s.done <- struct{}{}
	})
}
