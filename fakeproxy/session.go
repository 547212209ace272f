package fakeproxy

import (
	"context"
	"errors"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

const adsService = "/envoy.service.discovery.v3.AggregatedDiscoveryService/"

func adsMethod(v xds.Variant) string {
	if v == xds.SotW {
		return adsService + "StreamAggregatedResources"
	}
	return adsService + "DeltaAggregatedResources"
}

// run keeps the proxy connected until ctx ends or it is retired.
func (p *proxy) run(ctx context.Context) {
	p.began = p.fleet.cfg.Clock.Now()
	for again := false; p.attempt(ctx, again); {
		again = true
	}
	p.emit(&event.ProxyEvent{Proxy: p.index, Kind: event.Retired, At: p.fleet.cfg.Clock.Now()})
}

// attempt opens a stream, after a wait if not for the first time, and serves it until
// it breaks. It reports whether another attempt is to follow.
func (p *proxy) attempt(parent context.Context, again bool) bool {
	ctx, sever := context.WithCancelCause(parent)
	defer sever(nil)
	p.severable(sever)
	if again {
		if !sleep(ctx, p.backoff.next(p.rng)) {
			return false
		}
		p.began = p.fleet.cfg.Clock.Now()
		p.fleet.count.reconnects.Add(1)
	}
	connected, err := p.session(ctx, sever)
	if parent.Err() != nil || errors.Is(context.Cause(ctx), errRetired) {
		return false
	}
	p.lost(ctx, connected, err)
	return true
}

// session opens a stream and serves it until it breaks. It leaves no goroutine,
// and tells whether the control plane had taken the stream.
func (p *proxy) session(ctx context.Context, sever context.CancelCauseFunc) (connected bool, err error) {
	stream, address, err := p.connect(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, p.link.release()) }()
	out := &outbox{stream: stream, senders: p.fleet.senders}
	defer func() {
		if errors.Is(context.Cause(ctx), errOnPurpose) {
			err = errOnPurpose
		}
		sever(nil)
		connected = p.detach(out)
	}()
	p.goesTo(address)
	return false, p.serve(ctx, out)
}

// connect opens a stream, and the connection if there is none. Who has a stream
// must release the link. It is done in a goroutine of its own: the calls are
// deep, and the stack that they grow would stay with the proxy for as long as it
// waits for messages.
func (p *proxy) connect(ctx context.Context) (stream grpc.ClientStream, address int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var cc *grpc.ClientConn
		if cc, address, err = p.link.acquire(); err != nil {
			return
		}
		if p.node, err = p.id.node(); err != nil { // New has tried: the metadata have changed since
			err = errors.Join(err, p.link.release())
			return
		}
		stream, err = cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, adsMethod(p.id.Variant))
		if err != nil {
			err = errors.Join(err, p.link.release())
		}
	}()
	<-done
	return stream, address, err
}

// goesTo notes where a stream goes.
func (p *proxy) goesTo(address int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address = address
}

// fall leaves the connection open and reads nothing more, if the proxy is to
// do so at this point.
func (p *proxy) fall(from string) {
	if p.falls == from {
		p.link.stall()
		p.fleet.count.halfOpen.Add(1)
	}
}

// serve sends the first requests and then takes one response after the other.
func (p *proxy) serve(ctx context.Context, out *outbox) error {
	p.open(out)
	p.fall(HalfOpenFromStream)
	var f frame
	for {
		if err := out.stream.RecvMsg(&f); err != nil {
			return err
		}
		err := p.handle(ctx, &f)
		f.free()
		if err != nil {
			return err
		}
	}
}

// open sends the first requests of a stream: the root types always, the others
// if there are parents that name some.
// The node goes with the first request only; but ztunnel tells it for each type.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#basic-protocol-overview
func (p *proxy) open(out *outbox) {
	node := p.node
	p.node = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = out
	p.heard = p.fleet.cfg.Clock.Now()
	for t := range xds.Type(numTypes) {
		s := &p.types[t]
		s.nonce = s.nonce[:0]
		s.answered, s.asked = false, p.asks(t)
		if s.asked {
			p.put(p.dialect.first(p, t, node))
			if isEnvoy(p.roots) {
				node = nil
			}
		}
	}
	if p.complete() {
		p.fleet.warden.schedule(p.heard.Add(silence), p)
	}
}

// put queues a request and records its size. Needs mu.
func (p *proxy) put(r *request) {
	c := &p.fleet.count
	c.requests.Add(1)
	size := int64(r.size())
	for old := c.maxRequest.Load(); size > old && !c.maxRequest.CompareAndSwap(old, size); {
		old = c.maxRequest.Load()
	}
	p.out.put(r)
}

// detach forgets an ended stream and waits for what was sending on it.
func (p *proxy) detach(out *outbox) (connected bool) {
	p.mu.Lock()
	p.out = nil
	connected = p.connected
	if p.ready {
		p.fleet.count.ready.Add(-1)
	}
	if p.connected {
		p.connectedBy(-1)
	}
	p.connected, p.ready = false, false
	p.mu.Unlock()
	out.wait()
	return connected
}

// lost records that a stream ended, or never came to be, and why.
func (p *proxy) lost(ctx context.Context, connected bool, err error) {
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
