package adsconn

import (
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/internal/address"
)

// TestTheTimeOfArrivalIsTheKernels leaves a message in the socket: it has arrived
// when it was sent, not when it was read.
func TestTheTimeOfArrivalIsTheKernels(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lis.Close() }()
	transport := NewTransport(Config{Clock: event.NewClock()})
	defer transport.Close()
	c := transport.NewConn(ConnConfig{})
	s, err := c.dial(t.Context(), address.Address{Network: "tcp", Endpoint: lis.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	peer, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.Close() }()

	const pause = 100 * time.Millisecond
	for deadline := time.Now().Add(10 * time.Second); ; {
		if _, err := peer.Write([]byte("message")); err != nil {
			t.Fatal(err)
		}
		sent := c.meter.clock.Now()
		time.Sleep(pause)
		buf, _, err := s.ReadOnReady(100, mem.DefaultBufferPool())
		if err != nil {
			t.Fatal(err)
		}
		mem.DefaultBufferPool().Put(buf)
		switch arrived := event.Time(c.meter.last.Load()); {
		case !s.arrival.IsZero() && arrived.Sub(sent) < pause/2:
			return
		case time.Now().After(deadline): // the kernel begins a moment after it is asked
			t.Fatalf("sent at %v, arrived at %v, known %v", sent, arrived, !s.arrival.IsZero())
		}
	}
}
