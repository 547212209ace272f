package adsconn

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/internal/address"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer sends an empty message for each one received.
func answer(_ any, s grpc.ServerStream) error {
	for {
		if err := s.RecvMsg(new(emptypb.Empty)); err != nil {
			return nil //nolint:nilerr // the client has left
		}
		if err := s.SendMsg(new(emptypb.Empty)); err != nil {
			return err
		}
	}
}

// serve runs a gRPC server until the test ends.
func serve(t *testing.T, opts ...grpc.ServerOption) address.Address {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(append(opts, grpc.UnknownServiceHandler(answer))...)
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(lis) })
	t.Cleanup(func() { srv.Stop(); serving.Wait() })
	return address.Address{Network: "tcp", Endpoint: lis.Addr().String()}
}

// transport has one address, and ends with the test.
func transport(t *testing.T, to address.Address, options ...func(*Config)) *Transport {
	t.Helper()
	cfg := Config{Clock: event.NewClock(), Addresses: []address.Address{to}, Choose: func() int { return 0 }}
	for _, o := range options {
		o(&cfg)
	}
	tr := NewTransport(cfg)
	t.Cleanup(tr.Close)
	return tr
}

func empty() *Request { return NewRequest(mem.SliceBuffer{}, nil) }

// TestGRPCReadsWithTheTimeOfArrival fails if grpc-go no longer calls ReadOnReady, which
// it does not promise: without it no message has its time of arrival.
func TestGRPCReadsWithTheTimeOfArrival(t *testing.T) {
	t.Parallel()
	c := transport(t, serve(t)).NewConn(ConnConfig{})
	s, err := c.Open(t.Context(), xds.Delta)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	s.Send(empty())
	deadline := time.Now().Add(10 * time.Second)
	err = s.Serve(func(m *Message) error {
		switch {
		case m.Arrived > m.Received:
			return fmt.Errorf("arrived at %v, after it was received at %v", m.Arrived, m.Received)
		case m.Arrived != 0:
			return errEnough
		case time.Now().After(deadline): // the kernel begins a moment after it is asked
			return errors.New("no message has its time of arrival")
		}
		s.Send(empty())
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Error(err)
	}
}

var errEnough = errors.New("the test has seen enough")

// one waits for one message.
func one(s *Stream) error {
	if err := s.Serve(func(*Message) error { return errEnough }); !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

// TestMessageThatWasReadOtherwiseHasNoTimeOfArrival is what a message shows once
// grpc-go calls Read.
func TestMessageThatWasReadOtherwiseHasNoTimeOfArrival(t *testing.T) {
	t.Parallel()
	ours, peer := net.Pipe()
	defer func() { _, _ = ours.Close(), peer.Close() }()
	m := &meter{clock: event.NewClock()}
	m.last.Store(5)
	s := &grpcSocket{socket: &socket{Conn: ours, meter: m}}
	go func() { _, _ = peer.Write([]byte("message")) }()
	if _, err := s.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	var got Message
	if err := (codec{meter: m}).Unmarshal(nil, &got); err != nil || got.Arrived != 0 || m.in.Load() != 7 {
		t.Errorf("arrived at %v after %d bytes, %v: want no time of arrival", got.Arrived, m.in.Load(), err)
	}
}

func TestBrokenStreamSaysWhy(t *testing.T) {
	t.Parallel()
	c := transport(t, serve(t)).NewConn(ConnConfig{})
	s, err := c.Open(t.Context(), xds.SotW)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	reason := errors.New("the test's own")
	s.Break(reason)
	if err := one(s); !errors.Is(err, reason) {
		t.Errorf("ended by %v, want %v", err, reason)
	}
}

func TestOpeningIsBoundedWhereNoFurtherStreamMayBegin(t *testing.T) {
	t.Parallel()
	tr := transport(t, serve(t, grpc.MaxConcurrentStreams(1)))
	tr.openTimeout = 100 * time.Millisecond
	c := tr.NewConn(ConnConfig{})
	first, err := c.Open(t.Context(), xds.Delta)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	first.Send(empty())
	if err := one(first); err != nil { // the server's settings are known
		t.Fatal(err)
	}
	if second, err := c.Open(t.Context(), xds.Delta); !errors.Is(err, errOpenTimeout) {
		t.Errorf("got %v, %v, want that no stream could begin", second, err)
	}
}

func TestConnectingIsBoundedWhereThePeerSendsNoSettings(t *testing.T) {
	t.Parallel()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lis.Close() }()
	tr := transport(t, address.Address{Network: "tcp", Endpoint: lis.Addr().String()})
	tr.connectTimeout = 100 * time.Millisecond
	if s, err := tr.NewConn(ConnConfig{}).Open(t.Context(), xds.Delta); err == nil || errors.Is(err, errOpenTimeout) {
		t.Errorf("got %v, %v, want an error of the connection", s, err)
	}
}
