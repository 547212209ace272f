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
	debounced func(time.Duration) // told the time from the first update until push returned
}

// run serves until ctx is done, then waits for the pushes it started.
func (d *debouncer) run(ctx context.Context, updates <-chan *registry.Update) {
	var (
		pending     *registry.Update
		first, last time.Time // when the updates of pending came
		pushing     bool
		pushes      sync.WaitGroup
	)
	done := make(chan struct{}, 1)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer pushes.Wait()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-updates:
			if !d.eds && !u.Full {
				pushes.Go(func() { d.push(u) })
				continue
			}
			last = time.Now()
			if pending != nil {
				pending = pending.Merge(u)
				continue // the timer is set
			}
			pending, first = u, last
			timer.Reset(d.after)
			continue
		case <-timer.C:
		case <-done:
			pushing = false
		}
		if pending == nil || pushing {
			continue
		}
		if quiet, waited := time.Since(last), time.Since(first); quiet < d.after && waited < d.max {
			timer.Reset(min(d.after-quiet, d.max-waited)) // due then, should nothing more arrive
			continue
		}
		u, began := pending, first
		pending, pushing = nil, true
		pushes.Go(func() {
			d.push(u)
			d.debounced(time.Since(began))
			done <- struct{}{}
		})
	}
}
