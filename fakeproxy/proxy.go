package fakeproxy

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adsconn"
	"github.com/xdsbench/xdsbench/fakeproxy/misbehave"
	"github.com/xdsbench/xdsbench/fakeproxy/node"
	"github.com/xdsbench/xdsbench/fakeproxy/resource"
)

// typeState is what a proxy knows of one type apart from the resources.
type typeState struct {
	version  []byte       // last accepted; kept over reconnects
	nonce    []byte       // last received on this stream
	rejected resource.Key // the payload of the last NACK
	// responded is when the last response came, on any stream; 0 for never.
	responded event.Time
	accepted  bool // ever
	answered  bool // accepted on this stream
	asked     bool // a request was sent on this stream
}

// proxy is one fake Envoy.
type proxy struct {
	fleet   *Fleet
	index   int
	id      node.Identity
	roots   []xds.Type // asked for of its own accord
	dialect dialect
	conn    *adsconn.Conn

	// Used by the proxy's own goroutine only.
	rng          *rand.Rand
	nacks        *rand.Rand // draws rejections on purpose; nil if there are none
	delays       *rand.Rand // draws delays of answers; nil if there are none
	halfOpenFrom string     // when it stops reading; empty for never
	backoff      backoff
	began        event.Time // first attempt of this connection
	record       event.Response

	dropped []event.ResourceState // what went with its parents since the record began

	joined atomic.Bool

	sinkMu sync.Mutex // serialises the Sink's calls for this proxy

	mu      sync.Mutex // guards all below
	states  [xds.NumKnown]*resource.State
	types   [xds.NumKnown]typeState
	fetches []fetch
	ttls    map[ttlKey]event.Time
	stream  adsStream // nil while there is none
	// quietSince is when the stream last had a response, or else was opened.
	quietSince event.Time
	address    int // of the latest stream, by index; read without mu by its own goroutine
	connected  bool
	ready      bool
	left       bool               // for good
	leave      context.CancelFunc // nil before it connects
}

// subscribesTo reports whether the proxy subscribes to t, or has before. Needs mu.
func (p *proxy) subscribesTo(t xds.Type) bool {
	if t.IsRoot() {
		return slices.Contains(p.roots, t)
	}
	return p.states[t].Names.Len() > 0
}

// subscription is the set of names asked for; none for wildcard types.
// Needs mu.
func (p *proxy) subscription(t xds.Type) *resource.NameSet {
	if t.IsWildcard() {
		return p.fleet.table.NoNames
	}
	return p.states[t].Names
}

// childNames is the set of names of type t that the resources held name. Needs mu.
func (p *proxy) childNames(t xds.Type) *resource.NameSet {
	names := p.fleet.table.NoNames
	for _, parent := range t.Parents() {
		names = p.fleet.table.Union(names, p.states[parent].Held.Children[t])
	}
	return names
}

// subscribeToChildren adapts what the proxy asks for to the resources of type t that
// it now holds, with one request for each type that this changes. rewarm are the
// endpoints that changed clusters wait for afresh. Needs mu.
func (p *proxy) subscribeToChildren(t xds.Type, rewarm *resource.NameSet, at event.Time) []*event.ProxyEvent {
	var events []*event.ProxyEvent
	for _, c := range t.Children() {
		old, names, warm := p.states[c], p.childNames(c), p.fleet.table.NoNames
		if c == xds.EDS {
			warm = rewarm
		}
		if names == old.Names && warm.Len() == 0 {
			continue
		}
		s, next := p.fleet.table.Rename(old, c, names, warm)
		p.states[c] = next
		p.dropped = append(p.dropped, s.States...)
		if p.stream != nil && s.Subscribe.Len()+s.Unsubscribe.Len() > 0 {
			p.resubscribe(c, s)
		}
		p.startFetchTimeout(c, s.Awaited, at)
		events = append(events, p.subscriptionEvents(c, s, at)...)
		if next.Held != old.Held {
			events = append(events, p.subscribeToChildren(c, p.fleet.table.NoNames, at)...)
		}
	}
	return events
}

// complete reports whether everything that was named has arrived. Needs mu.
func (p *proxy) complete() bool {
	for _, t := range p.roots {
		if !p.types[t].accepted {
			return false
		}
	}
	for _, n := range p.states {
		if !n.Settled() {
			return false
		}
	}
	return true
}

// isReady reports whether a proxy that was not ready is: it is complete, and its
// stream has answered all root types, or has stayed quiet for long: a server need not
// repeat what the proxy said that it holds. Needs mu.
func (p *proxy) isReady(quiet bool) bool {
	if p.ready || p.stream == nil || !p.complete() {
		return false
	}
	for _, t := range p.roots {
		if !p.types[t].answered && !quiet {
			return false
		}
	}
	return true
}

// markReady makes the proxy ready, and returns the event. Needs mu.
func (p *proxy) markReady(at event.Time) *event.ProxyEvent {
	p.ready = true
	p.goHalfOpen(misbehave.FromReady)
	p.fleet.count.ready.Add(1)
	e := &event.ProxyEvent{Proxy: p.index, Kind: event.Ready, At: at, Since: at.Sub(p.began)}
	for t := range xds.Type(xds.NumKnown) {
		e.ConfigBytes[t] = p.states[t].Held.Bytes
	}
	return e
}

// markConnected makes the proxy connected: the control plane has taken its stream.
// Needs mu.
func (p *proxy) markConnected(at event.Time) *event.ProxyEvent {
	p.connected = true
	p.addConnected(1)
	return &event.ProxyEvent{Proxy: p.index, Kind: event.Connected, At: at}
}

// resubscribe sends the one request that a changed set of children takes. The
// first one of a stream is sent as such, with the versions held. Needs mu.
func (p *proxy) resubscribe(child xds.Type, s *resource.Step) {
	state := &p.types[child]
	if !state.asked {
		state.asked = true
		p.send(p.dialect.first(p, child, nil))
		return
	}
	if p.id.Variant == xds.SotW && child.IsWildcard() && s.Subscribe.Len() == 0 {
		return // There is no request that ends a SotW wildcard by naming nothing.
	}
	p.send(p.dialect.change(p, child, s.Subscribe, s.Unsubscribe))
}

// emit hands events to the sink, in order.
func (p *proxy) emit(events ...*event.ProxyEvent) {
	if len(events) == 0 {
		return
	}
	p.sinkMu.Lock()
	defer p.sinkMu.Unlock()
	for _, e := range events {
		p.fleet.cfg.Sink.Proxy(e)
	}
}

// subscriptionEvents returns events for endpoints that are newly asked for or no longer.
func (p *proxy) subscriptionEvents(t xds.Type, s *resource.Step, at event.Time) []*event.ProxyEvent {
	if t != xds.EDS {
		return nil
	}
	var events []*event.ProxyEvent
	if s.Unsubscribe.Len() > 0 {
		events = append(events, &event.ProxyEvent{
			Proxy: p.index, Kind: event.Unsubscribed, At: at, Clusters: s.Unsubscribe.Names,
		})
	}
	if s.Subscribe.Len() > 0 {
		events = append(events, &event.ProxyEvent{
			Proxy: p.index, Kind: event.Subscribed, At: at, Clusters: s.Subscribe.Names,
		})
	}
	return events
}
