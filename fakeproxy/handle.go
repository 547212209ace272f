package fakeproxy

import (
	"bytes"
	"context"
	"slices"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adsconn"
	"github.com/xdsbench/xdsbench/fakeproxy/resource"
)

// handle works through one response: it moves the proxy's state, answers, and
// tells the sink. An error means that the stream is of no use any more.
func (p *proxy) handle(ctx context.Context, m *adsconn.Message) error {
	if p.delays != nil && len(m.Pieces) > 1 { // it would keep a shared buffer while it waits
		return p.handleBytes(ctx, m, bytes.Join(m.Pieces, nil))
	}
	b, buffer, taken := p.fleet.scratch.whole(m)
	if taken {
		defer p.fleet.scratch.done(buffer)
	}
	return p.handleBytes(ctx, m, b)
}

func (p *proxy) handleBytes(ctx context.Context, m *adsconn.Message, b []byte) error {
	parsed := p.fleet.responses.Get()
	defer p.fleet.responses.Put(parsed)
	if err := parsed.Parse(b, p.id.Variant); err != nil {
		return err
	}
	r := &p.record
	*r = event.Response{
		Proxy: p.index, Address: p.address, Variant: p.id.Variant, Bytes: len(b), Received: m.Received, Socket: m.Arrived,
		Resources: len(parsed.Resources), Removed: len(parsed.Removed),
	}
	if r.Type = xds.TypeOfURL(parsed.URL); !p.mayAskFor(r.Type) {
		p.ignore(r)
		return nil
	}
	r.Injected = p.drawNack(parsed, r.Type)
	if err := p.waitToApply(ctx); err != nil {
		return err
	}
	events := p.apply(parsed, r)
	r.Answered = p.fleet.cfg.Clock.Now()
	p.report(r, events)
	return nil
}

// apply moves the state under the lock, answers, and returns what happened.
func (p *proxy) apply(m *resource.Response, r *event.Response) []*event.ProxyEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	var events []*event.ProxyEvent
	p.quietSince = r.Received
	t := r.Type
	state := &p.types[t]
	state.responded = r.Received
	if !p.connected {
		events = append(events, p.markConnected(r.Received))
	}
	state.nonce = append(state.nonce[:0], m.Nonce...)
	if r.Injected {
		p.nack(m, r, injectedReason)
		return events
	}
	if p.refusesUnwatched(t, len(m.Resources)) {
		r.OutOfOrder = r.Resources
		p.fleet.count.unknown.Add(1)
		p.send(p.dialect.answer(p, t, ""))
		return events
	}
	lastWins := p.fleet.cfg.Spec.SotWDuplicates == DuplicatesLast && p.id.Variant == xds.SotW
	step, next := p.fleet.table.Apply(p.states[t], m, t, p.id.Variant, lastWins)
	p.states[t] = next
	if step.Nack != "" {
		p.nack(m, r, step.Nack)
		return events
	}
	p.ack(m, r, step)
	p.dropped = p.dropped[:0]
	events = append(events, p.subscribeToChildren(t, step.Rewarm, r.Received)...)
	if len(p.dropped) > 0 {
		r.States = slices.Concat(r.States, p.dropped)
	}
	p.startTTLs(step.TTLs, r.Received)
	p.backoff.reset()
	if p.isReady(false) {
		events = append(events, p.markReady(r.Received))
	}
	return events
}

// refusesUnwatched reports whether a response is one of a type that the proxy has ceased to
// ask for, and is answered at the old version, without a reason. Envoy:
// GrpcMuxImpl::onDiscoveryResponse, where no watch is left
// (https://github.com/envoyproxy/envoy, source/extensions/config_subscription/grpc). Needs mu.
func (p *proxy) refusesUnwatched(t xds.Type, resources int) bool {
	return p.fleet.cfg.Spec.Unwatched == UnwatchedOld && p.id.Variant == xds.SotW && !t.IsRoot() &&
		resources > 0 && p.states[t].Names.Len() == 0
}

// ack accepts a response: its version is held from now on.
func (p *proxy) ack(m *resource.Response, r *event.Response, s *resource.Step) {
	state := &p.types[r.Type]
	state.version = append(state.version[:0], m.Version...)
	state.accepted, state.answered = true, true
	state.rejected = resource.Key{}
	r.Duplicates, r.OutOfOrder, r.States = s.Duplicates, s.OutOfOrder, s.States
	r.ChangedBytes = s.ChangedBytes
	c := &p.fleet.count
	c.acks.Add(1) // before the control plane can know of it
	p.send(p.dialect.answer(p, r.Type, ""))
	if s.OutOfOrder > 0 {
		c.outOfOrder.Add(int64(s.OutOfOrder))
	}
}

// nack rejects a response: neither version nor state moves.
func (p *proxy) nack(m *resource.Response, r *event.Response, reason string) {
	r.Nacked, r.Reason = true, reason
	state := &p.types[r.Type]
	c := &p.fleet.count
	c.nacks.Add(1)
	if r.Injected {
		c.injected.Add(1)
	} else if state.rejected == m.Sum && m.Sum != (resource.Key{}) {
		c.repeated.Add(1)
	}
	state.rejected = m.Sum
	p.send(p.dialect.answer(p, r.Type, reason))
}

const injectedReason = "rejected on purpose by the profile's proxies.nack"

// drawNack draws whether a response is to be rejected on purpose.
func (p *proxy) drawNack(m *resource.Response, t xds.Type) bool {
	n := &p.fleet.cfg.Spec.Nack
	if p.nacks == nil || !n.SelectsType(t) {
		return false
	}
	return (len(n.Names) == 0 || p.fleet.table.Mentions(m, t, p.id.Variant, n.SelectsName)) && p.nacks.Float64() < n.Rate
}

// waitToApply takes the time that the profile's proxies.applyDelay gives a response.
func (p *proxy) waitToApply(ctx context.Context) error {
	if p.delays == nil {
		return nil
	}
	p.fleet.count.delayed.Add(1)
	return wait(ctx, p.fleet.cfg.Spec.ApplyDelay.Draw(p.delays))
}

// mayAskFor reports whether the proxy may ever ask for a type.
func (p *proxy) mayAskFor(t xds.Type) bool {
	return t != xds.OtherType && (!t.IsRoot() || slices.Contains(p.roots, t))
}

// ignore reports a response of a type that was never asked for. Envoy leaves those
// without an answer.
func (p *proxy) ignore(r *event.Response) {
	r.OutOfOrder = r.Resources
	p.fleet.count.unknown.Add(1)
	p.report(r, nil)
}

// report counts a response and tells the sink.
func (p *proxy) report(r *event.Response, events []*event.ProxyEvent) {
	p.countResponse(r)
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
