package fakeproxy

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/xdsbench/xdsbench/event"
)

// timers is the one goroutine that keeps the timers of all proxies.
type timers struct {
	clock event.Clock
	wake  chan struct{} // has room for one

	mu    sync.Mutex
	queue timerHeap // guarded by mu
}

func newTimers(clock event.Clock) *timers {
	return &timers{clock: clock, wake: make(chan struct{}, 1)}
}

type timer struct {
	at event.Time
	p  *proxy
}

// set has p.onTimer called at a time. It never blocks.
func (s *timers) set(at event.Time, p *proxy) {
	s.mu.Lock()
	heap.Push(&s.queue, timer{at, p})
	first := s.queue[0].at == at
	s.mu.Unlock()
	if first {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// run keeps the timers until ctx ends.
func (s *timers) run(ctx context.Context) {
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	for {
		due, next := s.pop(s.clock.Now())
		for _, a := range due {
			a.p.onTimer(max(a.at, s.clock.Now()))
		}
		t.Reset(next)
		select {
		case <-t.C:
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

// pop takes what is due, and tells how long it is until something else is.
func (s *timers) pop(now event.Time) (due []timer, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 && s.queue[0].at <= now {
		if a, ok := heap.Pop(&s.queue).(timer); ok {
			due = append(due, a)
		}
	}
	if len(s.queue) == 0 {
		return due, time.Hour
	}
	return due, s.queue[0].at.Sub(now)
}

// timerHeap is a heap.Interface by time.
type timerHeap []timer

var _ heap.Interface = (*timerHeap)(nil)

// Len is part of heap.Interface, as are Less, Swap, Push and Pop.
func (a timerHeap) Len() int { return len(a) }

// Less orders by time.
func (a timerHeap) Less(i, j int) bool { return a[i].at < a[j].at }

// Swap exchanges two elements.
func (a timerHeap) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push appends an timer.
func (a *timerHeap) Push(x any) {
	if v, ok := x.(timer); ok {
		*a = append(*a, v)
	}
}

// Pop removes the last element.
func (a *timerHeap) Pop() any {
	old := *a
	last := old[len(old)-1]
	old[len(old)-1] = timer{}
	*a = old[:len(old)-1]
	return last
}
