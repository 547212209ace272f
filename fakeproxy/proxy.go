package fakeproxy

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// typeState is what a proxy knows of one type apart from the resources.
type typeState struct {
	version  []byte // last accepted; kept over reconnects
	nonce    []byte // last received on this stream
	rejected key    // the payload of the last NACK
	accepted bool   // ever
	answered bool   // accepted on this stream
	asked    bool   // a request was sent on this stream
}

// proxy is one fake Envoy.
type proxy struct {
	fleet   *Fleet
	index   int
	id      Identity
	node    []byte     // encoded, from when a stream was opened until it is sent
	roots   []xds.Type // asked for of its own accord
	dialect dialect
	link    *link

	// Used by the proxy's own goroutine only.
	rng     *rand.Rand
	nacks   *rand.Rand // draws rejections on purpose; nil if there are none
	delays  *rand.Rand // draws delays of answers; nil if there are none
	falls   string     // HalfOpenSpec.From, if it is to fall silent
	backoff backoff
	began   event.Time // first attempt of this connection
	record  event.Response

	sinkMu sync.Mutex // serialises the Sink's calls for this proxy

	mu        sync.Mutex // guards all below
	nodes     [numTypes]*node
	types     [numTypes]typeState
	waits     []wait
	ttls      map[ttlKey]event.Time
	out       *outbox // of the stream; nil while there is none
	heard     event.Time
	address   int // of the latest stream, by index; read without mu by its own goroutine
	connected bool
	ready     bool
	retired   bool                    // left for good, or is to
	sever     context.CancelCauseFunc // ends the attempt; nil before the first
}

// errRetired ends the context of a proxy that leaves for good.
var errRetired = errors.New("retired")

// severable lets leave and drop end an attempt.
func (p *proxy) severable(sever context.CancelCauseFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sever = sever
	if p.retired {
		sever(errRetired)
	}
}

// leave makes the proxy end for good, now or as soon as it begins.
func (p *proxy) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = true
	if p.sever != nil {
		p.sever(errRetired)
	}
}

// asks reports whether the proxy subscribes to t, or has before. Needs mu.
func (p *proxy) asks(t xds.Type) bool {
	if isRoot(t) {
		return slices.Contains(p.roots, t)
	}
	return p.nodes[t].names.len() > 0
}

// subscription is the set of names asked for; none for wildcard types.
// Needs mu.
func (p *proxy) subscription(t xds.Type) *nameSet {
	if isWildcard(t) {
		return p.fleet.table.noNames
	}
	return p.nodes[t].names
}

// named is the set of names of type t that the resources held name. Needs mu.
func (p *proxy) named(t xds.Type) *nameSet {
	names := p.fleet.table.noNames
	for _, parent := range parentsOf(t) {
		names = p.fleet.table.union(names, p.nodes[parent].held.children[t])
	}
	return names
}

// follow adapts what the proxy asks for to the resources of type t that it now
// holds, with one request for each type that this changes. rewarm are the
// endpoints that changed clusters wait for afresh. Needs mu.
func (p *proxy) follow(t xds.Type, rewarm *nameSet, at event.Time) []*event.ProxyEvent {
	var events []*event.ProxyEvent
	for _, c := range childrenOf(t) {
		n, names, warm := p.nodes[c], p.named(c), p.fleet.table.noNames
		if c == xds.EDS {
			warm = rewarm
		}
		if names == n.names && warm.len() == 0 {
			continue
		}
		k := stepKey{names.key.plus(warm.key.mixed(rewarmMeaning)), renaming | uint8(c)}
		s, next := n.step(k, func() (*step, *node) { return p.fleet.table.rename(n, c, names, warm) })
		p.nodes[c] = next
		if p.out != nil && s.subscribe.len()+s.unsubscribe.len() > 0 {
			p.resubscribe(c, s)
		}
		p.await(c, s.awaited, at)
		events = append(events, p.subscriptionEvents(c, s, at)...)
		if next.held != n.held {
			events = append(events, p.follow(c, p.fleet.table.noNames, at)...)
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
	for _, n := range p.nodes {
		if !n.settled() {
			return false
		}
	}
	return true
}

// becomeReady makes a complete proxy ready once its stream has answered all
// root types, or has stayed silent: a server need not repeat what the proxy
// told it that it holds. Needs mu.
func (p *proxy) becomeReady(silent bool) bool {
	if p.ready || p.out == nil || !p.complete() {
		return false
	}
	for _, t := range p.roots {
		if !p.types[t].answered && !silent {
			return false
		}
	}
	p.ready = true
	return true
}

// readyEvent describes a proxy that has just become ready. Needs mu.
func (p *proxy) readyEvent(at event.Time) *event.ProxyEvent {
	e := &event.ProxyEvent{Proxy: p.index, Kind: event.Ready, At: at, Since: at.Sub(p.began)}
	for t := range xds.Type(numTypes) {
		e.ConfigBytes[t] = p.nodes[t].held.bytes
	}
	return e
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
func (p *proxy) subscriptionEvents(t xds.Type, s *step, at event.Time) []*event.ProxyEvent {
	if t != xds.EDS {
		return nil
	}
	var events []*event.ProxyEvent
	if s.unsubscribe.len() > 0 {
		events = append(events, &event.ProxyEvent{
			Proxy: p.index, Kind: event.Unsubscribed, At: at, Clusters: s.unsubscribe.names,
		})
	}
	if s.subscribe.len() > 0 {
		events = append(events, &event.ProxyEvent{
			Proxy: p.index, Kind: event.Subscribed, At: at, Clusters: s.subscribe.names,
		})
	}
	return events
}
