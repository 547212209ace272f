package fakeproxy

import (
	"context"
	"errors"
	"log/slog"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adsconn"
	"github.com/xdsbench/xdsbench/fakeproxy/misbehave"
)

// adsStream is what a proxy needs of its stream.
type adsStream interface {
	// Context ends with the stream.
	Context() context.Context
	// Send queues a request, and never blocks.
	Send(r *adsconn.Request)
	// Serve hands over responses, until the stream ends or handle fails. Its error is why.
	Serve(handle func(m *adsconn.Message) error) error
	// Break ends the stream for a reason.
	Break(reason error)
}

var _ adsStream = (*adsconn.Stream)(nil)

// run keeps the proxy connected until ctx ends, or the proxy leaves.
func (p *proxy) run(ctx context.Context) {
	ctx, cancel := p.present(ctx)
	defer cancel()
	for ctx.Err() == nil {
		p.began = p.fleet.cfg.Clock.Now()
		connected, err := p.session(ctx)
		if ctx.Err() != nil {
			break
		}
		p.reportLoss(ctx, connected, err)
		if wait(ctx, p.backoff.next(p.rng)) != nil {
			break
		}
		p.fleet.count.reconnects.Add(1)
	}
	p.emit(&event.ProxyEvent{Proxy: p.index, Kind: event.Retired, At: p.fleet.cfg.Clock.Now()})
}

// session opens a stream and serves it until it breaks. It leaves no goroutine,
// and tells whether the control plane had taken the stream.
func (p *proxy) session(ctx context.Context) (connected bool, err error) {
	stream, node, err := p.open(ctx)
	if err != nil {
		return false, err
	}
	defer func() {
		connected = p.detach()
		err = errors.Join(err, stream.Close())
	}()
	p.attach(stream, stream.Address(), node)
	p.goHalfOpen(misbehave.FromStream)
	return false, p.serve(stream) //nolint:contextcheck // the stream's own, which ends with it
}

// open opens a stream, which must be closed, and encodes the node for it. It is done
// in a goroutine of its own: the calls are deep, and the stack that they grow would
// stay with the proxy for as long as it waits for messages.
func (p *proxy) open(ctx context.Context) (stream *adsconn.Stream, node []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if node, err = p.id.Encode(); err == nil { // New has tried: the metadata have changed since
			stream, err = p.conn.Open(ctx, p.id.Variant)
		}
	}()
	<-done
	return stream, node, err
}

// serve takes one response after the other.
func (p *proxy) serve(stream adsStream) error {
	ctx := stream.Context()
	return stream.Serve(func(m *adsconn.Message) error { return p.handle(ctx, m) })
}

// attach takes an opened stream and sends its first requests: the root types always,
// the others if there are parents that name some.
// The node goes with the first request only; but ztunnel tells it for each type.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#basic-protocol-overview
func (p *proxy) attach(stream adsStream, address int, node []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stream, p.address = stream, address
	p.quietSince = p.fleet.cfg.Clock.Now()
	once := !p.id.EachRequest()
	for t := range xds.Type(xds.NumKnown) {
		s := &p.types[t]
		s.nonce = s.nonce[:0]
		s.answered, s.asked = false, p.subscribesTo(t)
		if s.asked {
			p.send(p.dialect.first(p, t, node))
			if once {
				node = nil
			}
		}
	}
	if p.complete() {
		p.fleet.timers.set(p.quietSince.Add(quietTime), p)
	}
}

// detach forgets an ended stream, and tells whether the control plane had taken it.
func (p *proxy) detach() (connected bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stream = nil
	connected = p.connected
	if p.ready {
		p.fleet.count.ready.Add(-1)
	}
	if p.connected {
		p.addConnected(-1)
	}
	p.connected, p.ready = false, false
	return connected
}

// send queues a request and records its size. Needs mu.
func (p *proxy) send(r *adsconn.Request) {
	c := &p.fleet.count
	c.requests.Add(1)
	size := int64(r.Size())
	for old := c.maxRequest.Load(); size > old && !c.maxRequest.CompareAndSwap(old, size); {
		old = c.maxRequest.Load()
	}
	p.stream.Send(r)
}

// goHalfOpen leaves the connection open and reads nothing more, if the proxy is to
// do so at this point.
func (p *proxy) goHalfOpen(from string) {
	if p.halfOpenFrom == from {
		p.conn.StopReading()
		p.fleet.count.halfOpen.Add(1)
	}
}

// reportLoss reports that a stream ended, or never came to be, and why.
func (p *proxy) reportLoss(ctx context.Context, connected bool, err error) {
	c := &p.fleet.count
	e := &event.ProxyEvent{Proxy: p.index, Kind: event.Refused, At: p.fleet.cfg.Clock.Now(), Err: err}
	if connected {
		e.Kind = event.Disconnected
		c.disconnected.Add(1)
		p.fleet.byAddress[p.address].disconnected.Add(1)
	} else {
		c.refused.Add(1)
	}
	if status.Code(err) == codes.ResourceExhausted {
		c.exhausted.Add(1)
	}
	p.fleet.cfg.Log.LogAttrs(ctx, slog.LevelDebug, "stream ended",
		slog.Int("proxy", p.index), slog.Any("error", err))
	p.emit(e)
}
