package adsconn

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsbench/xdsbench/fakeproxy/adsconn/h2"
	"github.com/xdsbench/xdsbench/internal/address"
)

// userAgent is what the control plane is told of the client.
const userAgent = "xdsbench"

// leanClient is a connection of the package h2.
type leanClient struct {
	conn *Conn
	to   address.Address

	dialling sync.Mutex
	h2       atomic.Pointer[h2.Conn] // nil until the first stream is opened
	failed   atomic.Bool
}

// connected returns the HTTP/2 connection, which it opens first if there is none.
func (l *leanClient) connected(ctx context.Context) (*h2.Conn, error) {
	l.dialling.Lock()
	defer l.dialling.Unlock()
	if c := l.h2.Load(); c != nil {
		return c, nil
	}
	t := l.conn.transport
	ctx, cancel := context.WithTimeout(ctx, t.connectTimeout)
	defer cancel()
	s, err := l.conn.dial(ctx, l.to)
	if err != nil {
		l.failed.Store(true)
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	if l.to.Network == "tcp" {
		_ = countWaiting(s.raw) // without it each read is followed by one that finds nothing
	}
	c := h2.New(s, h2.Config{
		Buffers: t.buffers, StreamWindow: streamWindow, ConnectionWindow: connectionWindow, MaxReceiveBytes: t.cfg.MaxReceiveBytes,
		SettingsTimeout: t.connectTimeout,
	}, t.cfg.Shared)
	l.h2.Store(c)
	return c, nil
}

// open opens a stream. It waits for the control plane only where other streams share
// the connection, as Envoy does.
func (l *leanClient) open(ctx context.Context, method string) (carrier, error) {
	c, err := l.connected(ctx)
	if err != nil {
		return nil, err
	}
	h, err := c.Open(h2.RequestHeaders(authority(l.to), method, userAgent), ctx.Done())
	if err != nil {
		return nil, err
	}
	s := &leanStream{h2: h}
	s.ending.Add(1)
	s.stop = context.AfterFunc(ctx, func() {
		defer s.ending.Done()
		h.Interrupt()
	})
	return s, nil
}

func (l *leanClient) usable() bool {
	c := l.h2.Load()
	return !l.failed.Load() && (c == nil || c.Usable())
}

func (l *leanClient) close() error {
	if c := l.h2.Load(); c != nil {
		return c.Close()
	}
	return nil
}

// leanStream is a stream of the package h2.
type leanStream struct {
	h2     *h2.Stream
	stop   func() bool    // does not interrupt any more when the context ends
	ending sync.WaitGroup // the interruption, until it is stopped or done
}

func (s *leanStream) send(r *Request) { s.h2.Send(r.pieces[0], r.pieces[1]) }

func (s *leanStream) serve(handle func(m *Message) error) error {
	var m Message
	return s.h2.Serve(func(got *h2.Message) error {
		m = Message{Pieces: got.Pieces, Received: got.Stamp.Received, Arrived: got.Stamp.Arrived}
		return handle(&m)
	})
}

func (s *leanStream) close() {
	if s.stop() {
		s.ending.Done()
		s.h2.Interrupt()
	}
	s.ending.Wait()
}
