package adstest

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
)

// patience is how long the server waits for what a test expects, also on a busy
// machine with the race detector.
const patience = 30 * time.Second

// Server listens on loopback and hands every stream to the test.
type Server struct {
	// Addr is HOST:PORT, or unix:/PATH.
	Addr string

	grpc    *grpc.Server
	streams chan *Stream
	done    chan struct{}
	close   sync.Once
	serving sync.WaitGroup
}

// Start starts a server that stops with the test.
func Start(tb testing.TB, opts ...grpc.ServerOption) *Server {
	tb.Helper()
	return StartAt(tb, "127.0.0.1:0", opts...)
}

// StartAt starts a server at an address, HOST:PORT or unix:/PATH.
func StartAt(tb testing.TB, addr string, opts ...grpc.ServerOption) *Server {
	tb.Helper()
	var lc net.ListenConfig
	network, prefix := "tcp", ""
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, prefix, addr = "unix", "unix:", path
	}
	lis, err := lc.Listen(context.Background(), network, addr)
	if err != nil {
		tb.Fatalf("listening on %s: %v", addr, err)
	}
	opts = append(opts, grpc.WaitForHandlers(true)) // none starts once Stop waits for what they started
	s := &Server{
		Addr: prefix + lis.Addr().String(), grpc: grpc.NewServer(opts...),
		streams: make(chan *Stream, 1024), done: make(chan struct{}),
	}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(s.grpc, service{s: s})
	s.serving.Go(func() { _ = s.grpc.Serve(lis) })
	tb.Cleanup(s.Stop)
	return s
}

// Stop ends all streams and waits for them. It may be called twice.
func (s *Server) Stop() {
	s.close.Do(func() {
		close(s.done)
		s.grpc.Stop()
	})
	s.serving.Wait()
}

// GoAway tells the clients to leave, and returns when they have.
func (s *Server) GoAway() { s.grpc.GracefulStop() }

// Accept waits for the next stream.
func (s *Server) Accept(tb testing.TB) *Stream {
	tb.Helper()
	select {
	case st := <-s.streams:
		st.tb = tb
		return st
	case <-time.After(patience):
		tb.Fatal("no stream was opened in time")
		return nil
	}
}

type service struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	s *Server
}

// StreamAggregatedResources serves a SotW stream.
func (v service) StreamAggregatedResources(g discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return v.s.serve(g, func() (Request, error) {
		r, err := g.Recv()
		return fromSotW(r), err
	})
}

// DeltaAggregatedResources serves a Delta stream.
func (v service) DeltaAggregatedResources(g discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return v.s.serve(g, func() (Request, error) {
		r, err := g.Recv()
		return fromDelta(r), err
	})
}

// serve hands a stream to the test and records its requests until it ends.
func (s *Server) serve(g grpc.ServerStream, recv func() (Request, error)) error {
	st := &Stream{grpc: g, requests: make(chan Request, 4096), end: make(chan error, 1), gone: make(chan struct{})}
	s.streams <- st
	s.serving.Go(func() {
		defer close(st.gone)
		for {
			r, err := recv()
			if err != nil {
				return
			}
			st.requests <- r
		}
	})
	select {
	case err := <-st.end:
		return err
	case <-g.Context().Done():
		return g.Context().Err()
	case <-s.done:
		return nil
	}
}
