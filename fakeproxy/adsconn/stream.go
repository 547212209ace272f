package adsconn

import (
	"context"
	"errors"
	"time"

	"github.com/xdsbench/xdsbench/event/xds"
)

const service = "/envoy.service.discovery.v3.AggregatedDiscoveryService/"

func method(v xds.Variant) string {
	if v == xds.SotW {
		return service + "StreamAggregatedResources"
	}
	return service + "DeltaAggregatedResources"
}

var errOpenTimeout = errors.New("the control plane let no stream begin in time")

// Stream is one ADS stream.
type Stream struct {
	conn    *Conn
	client  *usedClient
	carrier carrier
	ctx     context.Context // ends with the stream
	cancel  context.CancelCauseFunc
}

// Open opens a stream, and the connection if there is none. The stream ends with ctx
// and must be closed.
func (c *Conn) Open(ctx context.Context, v xds.Variant) (*Stream, error) {
	u, err := c.acquire()
	if err != nil {
		return nil, err
	}
	s := &Stream{conn: c, client: u}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	timeout := time.AfterFunc(c.transport.openTimeout, func() { s.cancel(errOpenTimeout) })
	defer timeout.Stop()
	if s.carrier, err = u.open(s.ctx, method(v)); err != nil { //nolint:contextcheck // it is of ctx
		err = s.reason(err)
		s.cancel(nil)
		return nil, errors.Join(err, c.release(u))
	}
	return s, nil
}

// Context ends when the stream is broken off or closed.
func (s *Stream) Context() context.Context { return s.ctx }

// Address is the index of the address that the stream goes to.
func (s *Stream) Address() int { return s.client.address }

// Send queues a request. It never blocks. That a stream is broken shows in
// Serve, with the server's status.
func (s *Stream) Send(r *Request) { s.carrier.send(r) }

// Serve hands over one message after the other, until the stream ends or handle returns
// an error. A message is good until handle returns. The error says why the stream has
// ended.
func (s *Stream) Serve(handle func(m *Message) error) error {
	return s.reason(s.carrier.serve(handle))
}

// reason returns why the stream was ended, if we ended it, or else err.
func (s *Stream) reason(err error) error {
	if cause := context.Cause(s.ctx); cause != nil {
		return cause
	}
	return err
}

// Break ends the stream for a reason, which Serve then returns.
func (s *Stream) Break(reason error) { s.cancel(reason) }

// Close ends the stream and, if no other uses it, the connection. It returns when
// nothing is being sent any more; nobody may send then.
func (s *Stream) Close() error {
	s.cancel(nil)
	s.carrier.close()
	return s.conn.release(s.client)
}
