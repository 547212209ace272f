package harness

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/fakeproxy"
)

// fleetSink hands the fleet's events to the collector. It remembers why the latest
// connection failed, for the error of a fleet that does not get ready.
type fleetSink struct {
	*collect.Collector

	failure atomic.Pointer[error]
	// refused says of each proxy that a connection attempt failed, and not because
	// nobody answered.
	refused []atomic.Bool
}

var _ fakeproxy.Sink = (*fleetSink)(nil)

func newFleetSink(c *collect.Collector, proxies int) *fleetSink {
	return &fleetSink{Collector: c, refused: make([]atomic.Bool, proxies)}
}

// Proxy notes a failure and passes the event on.
func (s *fleetSink) Proxy(e *event.ProxyEvent) {
	if e.Err != nil {
		s.failure.Store(&e.Err)
		if !isTimeout(e.Err) {
			s.refused[e.Proxy].Store(true)
		}
	}
	s.Collector.Proxy(e)
}

// lastFailure returns why the latest connection failed; nil if none did.
func (s *fleetSink) lastFailure() error {
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// churnSink hands the churn's events to the collector, but for the ends of mutations
// that the API server did not answer in time: whether it made them is not known, so
// they stay unanswered. It remembers when the others were issued.
type churnSink struct {
	*collect.Collector

	mu         sync.Mutex // guards all below
	visible    []event.Time
	unanswered int
}

var _ churn.Sink = (*churnSink)(nil)

// End passes the answer on.
func (s *churnSink) End(m *event.Mutation) {
	if errors.Is(m.Err, ErrNoAnswer) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unanswered++
		return
	}
	if m.Err == nil && !m.Noop() {
		s.mu.Lock()
		s.visible = append(s.visible, m.Issued)
		s.mu.Unlock()
	}
	s.Collector.End(m)
}

// visibleBetween counts the mutations that proxies can see and that were issued after
// one time and up to another.
func (s *churnSink) visibleBetween(after, until event.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, at := range s.visible {
		if at > after && at <= until {
			n++
		}
	}
	return n
}

// failed returns how many of n failed writes the API server did answer.
func (s *churnSink) failed(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n - s.unanswered
}
