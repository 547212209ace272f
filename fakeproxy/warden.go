package fakeproxy

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/xdsbench/xdsbench/event"
)

// warden is the one goroutine that keeps the timers of all proxies.
type warden struct {
	clock event.Clock
	wake  chan struct{} // has room for one

	mu    sync.Mutex
	queue alarms // guarded by mu
}

func newWarden(clock event.Clock) *warden {
	return &warden{clock: clock, wake: make(chan struct{}, 1)}
}

type alarm struct {
	at event.Time
	p  *proxy
}

// schedule has p.due called at a time. It never blocks.
func (w *warden) schedule(at event.Time, p *proxy) {
	w.mu.Lock()
	heap.Push(&w.queue, alarm{at, p})
	first := w.queue[0].at == at
	w.mu.Unlock()
	if first {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// run keeps the timers until ctx ends.
func (w *warden) run(ctx context.Context) {
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	for {
		due, next := w.pop(w.clock.Now())
		for _, a := range due {
			a.p.due(max(a.at, w.clock.Now()))
		}
		t.Reset(next)
		select {
		case <-t.C:
		case <-w.wake:
		case <-ctx.Done():
			return
		}
	}
}

// pop takes what is due, and tells how long to sleep until something is.
func (w *warden) pop(now event.Time) (due []alarm, next time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) > 0 && w.queue[0].at <= now {
		if a, ok := heap.Pop(&w.queue).(alarm); ok {
			due = append(due, a)
		}
	}
	if len(w.queue) == 0 {
		return due, time.Hour
	}
	return due, w.queue[0].at.Sub(now)
}

// alarms is a heap.Interface by time.
type alarms []alarm

var _ heap.Interface = (*alarms)(nil)

// Len is part of heap.Interface, as are Less, Swap, Push and Pop.
func (a alarms) Len() int { return len(a) }

// Less orders by time.
func (a alarms) Less(i, j int) bool { return a[i].at < a[j].at }

// Swap exchanges two elements.
func (a alarms) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push appends an alarm.
func (a *alarms) Push(x any) {
	if v, ok := x.(alarm); ok {
		*a = append(*a, v)
	}
}

// Pop removes the last element.
func (a *alarms) Pop() any {
	old := *a
	last := old[len(old)-1]
	old[len(old)-1] = alarm{}
	*a = old[:len(old)-1]
	return last
}
