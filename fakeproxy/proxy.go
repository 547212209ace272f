package fakeproxy

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/xdsbench/xdsbench/event"
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
	dialect dialect
	link    *link

	// Used by the proxy's own goroutine only.
	rng     *rand.Rand
	backoff backoff
	began   event.Time // first attempt of this connection
	record  event.Response

	sinkMu sync.Mutex // serialises the Sink's calls for this proxy

	mu        sync.Mutex // guards all below
	branches  [numBranches]*node
	types     [numTypes]typeState
	waits     []wait
	ttls      map[ttlKey]event.Time
	out       *outbox // of the stream; nil while there is none
	heard     event.Time
	connected bool
	ready     bool
	retired   bool               // left for good, or is to
	stop      context.CancelFunc // ends run; nil before it
}

// stoppable lets leave end the proxy's context.
func (p *proxy) stoppable(stop context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop = stop
	if p.retired {
		stop()
	}
}

// leave makes the proxy end for good, now or as soon as it begins.
func (p *proxy) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = true
	if p.stop != nil {
		p.stop()
	}
}

// subscription is the set of names asked for; none for wildcard types.
// Needs mu.
func (p *proxy) subscription(t event.Type) *nameSet {
	if isRoot(t) {
		return p.fleet.table.noNames
	}
	return p.branches[branchOf(t)].names()
}

// held is the set of resources held. Needs mu.
func (p *proxy) held(t event.Type) *view {
	n := p.branches[branchOf(t)]
	if isRoot(t) {
		return n.parents
	}
	return n.children
}

// complete reports whether everything that was named has arrived. Needs mu.
func (p *proxy) complete() bool {
	return p.types[event.CDS].accepted && p.types[event.LDS].accepted &&
		p.branches[clusterBranch].settled() && p.branches[listenerBranch].settled()
}

// becomeReady makes a complete proxy ready once its stream has answered both
// root types, or has stayed silent: a server need not repeat what the proxy
// told it that it holds. Needs mu.
func (p *proxy) becomeReady(silent bool) bool {
	answered := p.types[event.CDS].answered && p.types[event.LDS].answered
	if p.ready || p.out == nil || !p.complete() || !answered && !silent {
		return false
	}
	p.ready = true
	return true
}

// readyEvent describes a proxy that has just become ready. Needs mu.
func (p *proxy) readyEvent(at event.Time) *event.ProxyEvent {
	e := &event.ProxyEvent{Proxy: p.index, Kind: event.Ready, At: at, Since: at.Sub(p.began)}
	for t := range event.Type(numTypes) {
		e.ConfigBytes[t] = p.held(t).bytes
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
func (p *proxy) subscriptionEvents(t event.Type, s *step, at event.Time) []*event.ProxyEvent {
	if t != event.CDS {
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
