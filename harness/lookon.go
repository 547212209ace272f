package harness

import (
	"context"
	"sync"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/proxyconfig"
)

// WatchProxy connects one fake proxy and tells what it sees until ctx ends; dump describes
// what it holds, with the content of the resources, at the end and whenever ask says. see
// and dump are called one at a time. The error is not nil if it could never connect.
func WatchProxy(ctx context.Context, cfg FleetConfig, ask <-chan struct{}, see func(*proxyconfig.Seen), dump func(fakeproxy.Dump)) error {
	cfg.Spec.Count = 1
	w := &onlooker{see: see}
	cfg.onlooker = w
	w.mu.Lock() // until the fleet is known
	s, err := startStanding(ctx, cfg, true)
	if err != nil {
		w.mu.Unlock()
		return err
	}
	defer s.stop()
	w.fleet, w.clock = s.fleet, s.clock
	w.mu.Unlock()
	tell := func() (connected bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended = ctx.Err() != nil // the dump is the last
		if w.connected {
			dump(s.fleet.Dump(0))
		}
		return w.connected
	}
	for {
		select {
		case <-ask:
			tell()
		case <-ctx.Done():
			if !tell() {
				return s.neverConnected()
			}
			return nil
		}
	}
}

// onlooker is a sink that looks at its one proxy after each response.
type onlooker struct {
	see func(*proxyconfig.Seen)

	mu        sync.Mutex // guards all below
	fleet     *fakeproxy.Fleet
	clock     event.Clock
	held      fakeproxy.Dump
	connected bool
	ended     bool // nothing more is told
}

// nameOf is how an event is told; empty if it is not.
func nameOf(k event.ProxyEventKind) string {
	switch k {
	case event.Connected:
		return "connected"
	case event.Ready:
		return "ready"
	case event.Disconnected:
		return "disconnected"
	case event.Refused:
		return "refused"
	case event.Retired, event.Subscribed, event.Unsubscribed:
	}
	return ""
}

func (o *onlooker) Response(r *event.Response) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	now := o.fleet.Dump(0)
	s := &proxyconfig.Seen{
		At: o.clock.Wall(r.Received), Variant: now.Variant, Type: r.Type.String(),
		Bytes: r.Bytes, Resources: r.Resources, Removed: r.Removed, Duplicates: r.Duplicates, Nack: r.Reason,
	}
	if int(r.Type) < len(now.Types) { // a type that it knows
		s.Version, s.Nonce = now.Types[r.Type].Version, now.Types[r.Type].Nonce
	}
	var err error
	if s.Changes, err = proxyconfig.Changes(o.held, now); err != nil {
		s.Error = err.Error()
	}
	o.held = now
	o.see(s)
}

func (o *onlooker) Proxy(e *event.ProxyEvent) {
	name := nameOf(e.Kind)
	if name == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	o.connected = o.connected || e.Kind == event.Connected
	s := &proxyconfig.Seen{At: o.clock.Wall(e.At), Variant: o.fleet.Dump(0).Variant, Event: name}
	if e.Err != nil {
		s.Error = e.Err.Error()
	}
	o.see(s)
}

// both hands a fleet's events to two sinks.
type both [2]fakeproxy.Sink

func (b both) Response(r *event.Response) {
	for _, s := range b {
		s.Response(r)
	}
}

func (b both) Proxy(e *event.ProxyEvent) {
	for _, s := range b {
		s.Proxy(e)
	}
}
