package harness

import (
	"sync/atomic"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/fakeproxy"
)

// fleetSink hands the fleet's events to the collector, and remembers why the
// latest connection failed, for the error of a fleet that does not get ready.
type fleetSink struct {
	*collect.Collector

	failure atomic.Pointer[error]
}

var _ fakeproxy.Sink = (*fleetSink)(nil)

// Proxy notes a failure and passes the event on.
func (s *fleetSink) Proxy(e *event.ProxyEvent) {
	if e.Err != nil {
		s.failure.Store(&e.Err)
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
