package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// newCollector returns a collector of one proxy in steady load.
func newCollector(t *testing.T) (*collect.Collector, event.Clock) {
	t.Helper()
	clock := event.NewClock()
	c, err := collect.New(collect.Config{
		Proxies: 1, Variants: make([]xds.Variant, 1), Clock: clock,
		Baseline: []event.Expected{{ResourceState: event.ResourceState{Type: xds.EDS, Name: "a", State: 1}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.BeginSteady()
	return c, clock
}

func TestWriteWithoutAnAnswerIsUnansweredAndNotFailed(t *testing.T) {
	t.Parallel()
	c, clock := newCollector(t)
	s := &churnSink{Collector: c}
	start := clock.Now()
	for i, err := range []error{nil, fmt.Errorf("write: %w", ErrNoAnswer), errors.New("refused"), nil} {
		m := &event.Mutation{Seq: uint64(i + 1), Kind: "pod-add", Service: "ns/svc", Scheduled: clock.Now(), Issued: clock.Now()}
		if i < 3 { // the last is a no-op
			m.States = []event.Expected{{ResourceState: event.ResourceState{Type: xds.EDS, Name: "a", State: event.Fingerprint(i + 2)}}}
		}
		s.Begin(m)
		m.Acked, m.Err = clock.Now(), err
		s.End(m)
	}
	r := c.Finish(collect.Final{Scheduled: 4})
	if m := r.Mutations; m.Unanswered != 1 || m.Failed != 1 || m.Applied != 3 || m.Noop != 1 {
		t.Errorf("mutations %+v", m)
	}
	if n := s.failed(2); n != 1 {
		t.Errorf("%d writes count as failed, want 1 of 2", n)
	}
	if n := s.visibleBetween(start.Add(-1), clock.Now()); n != 1 {
		t.Errorf("%d mutations are visible, want the first alone", n)
	}
	if n := s.visibleBetween(clock.Now(), clock.Now().Add(1)); n != 0 {
		t.Errorf("%d mutations are visible after all", n)
	}
}

func TestSilenceIsNoRefusal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err     error
		timeout bool
	}{
		"deadline":         {fmt.Errorf("open: %w", context.DeadlineExceeded), true},
		"gRPC's":           {status.Error(codes.DeadlineExceeded, "no settings"), true},
		"the dialler's":    {&net.OpError{Op: "dial", Err: context.DeadlineExceeded}, true},
		"refused":          {status.Error(codes.Unavailable, "connection refused"), false},
		"connection limit": {status.Error(codes.ResourceExhausted, "too many"), false},
	} {
		if got := isTimeout(test.err); got != test.timeout {
			t.Errorf("%s: %t", name, got)
		}
		c, clock := newCollector(t)
		s := newFleetSink(c, 1)
		s.Proxy(&event.ProxyEvent{Kind: event.Refused, At: clock.Now(), Err: test.err})
		if s.refused[0].Load() == test.timeout || !errors.Is(s.lastFailure(), test.err) {
			t.Errorf("%s: refused %t, last failure %v", name, s.refused[0].Load(), s.lastFailure())
		}
	}
}
