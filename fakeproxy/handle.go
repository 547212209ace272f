package fakeproxy

import (
	"context"
	"slices"

	"google.golang.org/grpc/mem"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// handle works through one response: it moves the proxy's state, answers, and
// tells the sink. An error means that the stream is of no use any more.
func (p *proxy) handle(ctx context.Context, f *frame) error {
	if p.delays != nil { // it would keep a shared buffer while it waits
		own := f.data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer own.Free()
		return p.work(ctx, f, own.ReadOnlyData())
	}
	b, buffer, taken := p.fleet.scratch.whole(f.data)
	if taken {
		defer p.fleet.scratch.done(buffer)
	}
	return p.work(ctx, f, b)
}

// work works through the bytes of a response.
func (p *proxy) work(ctx context.Context, f *frame, b []byte) error {
	m := p.fleet.messages.get()
	defer p.fleet.messages.put(m)
	if err := m.parse(b, p.id.Variant); err != nil {
		return err
	}
	r := &p.record
	*r = event.Response{
		Proxy: p.index, Variant: p.id.Variant, Bytes: len(b), Received: f.received,
		Socket: f.socket, Resources: len(m.resources), Removed: len(m.removed),
	}
	if r.Type = typeOf(m.url); !p.knows(r.Type) {
		p.unknown(r)
		return nil
	}
	r.Injected = p.rejects(m, r.Type)
	if !p.applies(ctx) {
		return ctx.Err()
	}
	events := p.take(m, r)
	r.Answered = p.fleet.cfg.Clock.Now()
	p.finish(r, events)
	return nil
}

// take moves the state under the lock, answers, and returns what happened.
func (p *proxy) take(m *message, r *event.Response) []*event.ProxyEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	var events []*event.ProxyEvent
	p.heard = r.Received
	if !p.connected {
		p.connected = true
		p.connectedBy(1)
		events = append(events, &event.ProxyEvent{Proxy: p.index, Kind: event.Connected, At: r.Received})
	}
	t := r.Type
	state := &p.types[t]
	state.nonce = append(state.nonce[:0], m.nonce...)
	if r.Injected {
		p.nack(m, r, injectedReason)
		return events
	}
	s := p.step(m, r)
	if s.nack != "" {
		p.nack(m, r, s.nack)
		return events
	}
	p.ack(m, r, s)
	events = append(events, p.follow(t, s.rewarm, r.Received)...)
	p.live(s.ttls, r.Received)
	p.backoff.reset()
	if p.becomeReady(false) {
		p.fall(HalfOpenFromReady)
		p.fleet.count.ready.Add(1)
		events = append(events, p.readyEvent(r.Received))
	}
	return events
}

// step moves the state by one response, unless it is to be rejected.
func (p *proxy) step(m *message, r *event.Response) *step {
	n := p.nodes[r.Type]
	lastWins := p.fleet.cfg.Spec.SotWDuplicates == DuplicatesLast && p.id.Variant == xds.SotW
	op := uint8(r.Type)
	if p.id.Variant == xds.Delta {
		op |= ofDelta
	}
	s, next := n.step(stepKey{m.sum, op}, func() (*step, *node) {
		t := p.fleet.table
		in := &incoming{typ: r.Type, variant: p.id.Variant, lastWins: lastWins}
		for i, b := range m.resources {
			in.items = append(in.items, t.item(b, m.hashes[i], r.Type, p.id.Variant))
		}
		for _, b := range m.removed {
			in.removed = append(in.removed, string(b))
		}
		return t.apply(n, in)
	})
	p.nodes[r.Type] = next
	return s
}

// ack accepts a response: its version is held from now on.
func (p *proxy) ack(m *message, r *event.Response, s *step) {
	state := &p.types[r.Type]
	state.version = append(state.version[:0], m.version...)
	state.accepted, state.answered = true, true
	state.rejected = key{}
	r.Duplicates, r.OutOfOrder, r.States = s.duplicates, s.outOfOrder, s.states
	p.put(p.dialect.answer(p, r.Type, ""))
	c := &p.fleet.count
	c.acks.Add(1)
	if s.outOfOrder > 0 {
		c.outOfOrder.Add(int64(s.outOfOrder))
	}
}

// resubscribe sends the one request that a changed set of children takes. The
// first one of a stream is sent as such, with the versions held.
func (p *proxy) resubscribe(child xds.Type, s *step) {
	state := &p.types[child]
	if !state.asked {
		state.asked = true
		p.put(p.dialect.first(p, child, nil))
		return
	}
	if p.id.Variant == xds.SotW && isWildcard(child) && s.subscribe.len() == 0 {
		return // There is no request that ends a SotW wildcard by naming nothing.
	}
	p.put(p.dialect.change(p, child, s.subscribe, s.unsubscribe))
}

// nack rejects a response: neither version nor state moves.
func (p *proxy) nack(m *message, r *event.Response, reason string) {
	r.Nacked, r.Reason = true, reason
	state := &p.types[r.Type]
	c := &p.fleet.count
	c.nacks.Add(1)
	if r.Injected {
		c.injected.Add(1)
	} else if state.rejected == m.sum && m.sum != (key{}) {
		c.repeated.Add(1)
	}
	state.rejected = m.sum
	p.put(p.dialect.answer(p, r.Type, reason))
}

const injectedReason = "rejected on purpose by the profile's proxies.nack"

// rejects draws whether a response is to be rejected on purpose.
func (p *proxy) rejects(m *message, t xds.Type) bool {
	n := &p.fleet.cfg.Spec.Nack
	if p.nacks == nil || len(n.Types) > 0 && !slices.Contains(n.Types, t.String()) {
		return false
	}
	return (len(n.Names) == 0 || p.mentions(m, t, n.Names)) && p.nacks.Float64() < n.Rate
}

// mentions reports whether a response adds or removes a resource whose name one
// of the patterns matches.
func (p *proxy) mentions(m *message, t xds.Type, patterns []string) bool {
	matches := func(name string) bool {
		return slices.ContainsFunc(patterns, func(s string) bool { return pattern(s).matches(name) })
	}
	for i, b := range m.resources {
		if matches(p.fleet.table.item(b, m.hashes[i], t, p.id.Variant).name) {
			return true
		}
	}
	return slices.ContainsFunc(m.removed, func(name []byte) bool { return matches(string(name)) })
}

// applies takes the time that a response takes, and reports whether ctx is
// still good after it.
func (p *proxy) applies(ctx context.Context) bool {
	if p.delays == nil {
		return true
	}
	p.fleet.count.delayed.Add(1)
	return sleep(ctx, p.fleet.cfg.Spec.ApplyDelay.draw(p.delays))
}

// knows reports whether the proxy may ever ask for a type.
func (p *proxy) knows(t xds.Type) bool {
	return t != xds.OtherType && (!isRoot(t) || slices.Contains(p.roots, t))
}

// unknown reports a response of a type that was never asked for. Envoy ignores
// those without an answer.
func (p *proxy) unknown(r *event.Response) {
	r.OutOfOrder = r.Resources
	p.fleet.count.unknown.Add(1)
	p.finish(r, nil)
}

// finish counts a response and tells the sink.
func (p *proxy) finish(r *event.Response, events []*event.ProxyEvent) {
	p.counted(r)
	p.sinkMu.Lock()
	defer p.sinkMu.Unlock()
	for len(events) > 0 && events[0].Kind == event.Connected {
		p.fleet.cfg.Sink.Proxy(events[0])
		events = events[1:]
	}
	p.fleet.cfg.Sink.Response(r)
	for _, e := range events {
		p.fleet.cfg.Sink.Proxy(e)
	}
}
