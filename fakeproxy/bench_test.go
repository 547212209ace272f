package fakeproxy_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// encoded is a message that was marshalled before.
type encoded []byte

// passing is a codec that sends encoded messages as they are and drops the
// bytes of what it receives.
type passing struct{}

var _ encoding.CodecV2 = passing{}

func (passing) Name() string { return "proto" }

func (passing) Marshal(v any) (mem.BufferSlice, error) {
	switch v := v.(type) {
	case encoded:
		return mem.BufferSlice{mem.SliceBuffer(v)}, nil
	case proto.Message:
		b, err := proto.Marshal(v)
		return mem.BufferSlice{mem.SliceBuffer(b)}, err
	}
	return nil, fmt.Errorf("cannot send %T", v)
}

func (passing) Unmarshal(mem.BufferSlice, any) error { return nil }

// pusher is an ADS server that sends one response to every stream, and counts
// the requests that answer it.
type pusher struct {
	addr    string
	mu      sync.Mutex
	streams []grpc.ServerStream
	answers atomic.Int64
	first   [][]byte // sent to each new stream
}

func newPusher(tb testing.TB, first ...[]byte) *pusher {
	tb.Helper()
	p := &pusher{first: first}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p.addr = lis.Addr().String()
	srv := grpc.NewServer(grpc.ForceServerCodecV2(passing{}),
		grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error { return p.serve(s) }))
	go func() { _ = srv.Serve(lis) }()
	tb.Cleanup(srv.Stop)
	return p
}

func (p *pusher) serve(s grpc.ServerStream) error {
	for _, m := range p.first {
		if err := s.SendMsg(encoded(m)); err != nil {
			return err
		}
	}
	p.mu.Lock()
	p.streams = append(p.streams, s)
	p.mu.Unlock()
	for {
		if err := s.RecvMsg(nil); err != nil {
			return nil //nolint:nilerr // the client has left
		}
		p.answers.Add(1)
	}
}

func (p *pusher) await(n int) {
	for {
		p.mu.Lock()
		got := len(p.streams)
		p.mu.Unlock()
		if got == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bareClients open n streams that pass every message to got, and ACK it.
func bareClients(b *testing.B, addr string, n int, codec encoding.CodecV2, recv func(grpc.ClientStream) error) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	b.Cleanup(func() { cancel(); wg.Wait() })
	ack, err := proto.Marshal(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: adstest.EDS, ResponseNonce: "n-1"})
	if err != nil {
		b.Fatal(err)
	}
	for range n {
		cc, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDisableRetry(), grpc.WithIdleTimeout(0),
			grpc.WithStaticStreamWindowSize(16<<20), grpc.WithStaticConnWindowSize(24<<20),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec), grpc.MaxCallRecvMsgSize(math.MaxInt)))
		if err != nil {
			b.Fatal(err)
		}
		s, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/a/b")
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			defer func() { _ = cc.Close() }()
			for recv(s) == nil {
				if s.SendMsg(encoded(ack)) != nil {
					return
				}
			}
		})
	}
}

// decoding is passing with received messages decoded, as a client does that
// decodes everything.
type decoding struct{ passing }

func (decoding) Unmarshal(data mem.BufferSlice, v any) error {
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	m := v.(*discoveryv3.DeltaDiscoveryResponse) //nolint:forcetypeassert // the benchmark's own
	if err := proto.Unmarshal(buf.ReadOnlyData(), m); err != nil {
		return err
	}
	if m.GetTypeUrl() != adstest.EDS {
		return nil
	}
	for _, r := range m.GetResources() {
		var a endpointv3.ClusterLoadAssignment
		if err := r.GetResource().UnmarshalTo(&a); err != nil {
			return err
		}
		if err := a.Validate(); err != nil {
			return err
		}
		for _, l := range a.GetEndpoints() {
			for _, e := range l.GetLbEndpoints() {
				s := e.GetEndpoint().GetAddress().GetSocketAddress()
				_ = event.EndpointHash(s.GetAddress(), s.GetPortValue())
			}
		}
	}
	return nil
}

// none is a Sink that ignores everything.
type none struct{}

func (none) Response(*event.Response) {}
func (none) Proxy(*event.ProxyEvent)  {}

// assignment is a response with an EDS resource of n endpoints.
func assignment(tb testing.TB, version string, n, offset int) []byte {
	tb.Helper()
	var addrs []string
	for i := range n {
		k := i + offset
		addrs = append(addrs, fmt.Sprintf("10.%d.%d.%d:8080", k>>16&255, k>>8&255, k&255))
	}
	m, err := proto.Marshal(adstest.Delta(adstest.EDS, version, makeEndpoints("svc-0", addrs...)))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// BenchmarkReceive measures the client's CPU per delivered push of one EDS
// resource of 500 endpoints: of a bare loop that drops the bytes, of clients
// that each decode, and of a fleet. The server is a process of its own, which
// pushes as fast as the clients answer. The rounds are there because machines get
// faster and slower: a ratio is to the bare loop of the same round.
func BenchmarkReceive(b *testing.B) {
	for round := range 3 {
		b.Run(fmt.Sprintf("round=%d", round+1), benchmarkReceive)
	}
}

func benchmarkReceive(b *testing.B) {
	const streams = 500
	var bare float64
	server := func(b *testing.B) string {
		b.Helper()
		addr, _ := serverProcess(b, 1, fmt.Sprintf("%s=%d", pushTo, streams))
		return addr
	}
	run := func(b *testing.B, responses func() int64) {
		b.Helper()
		await := func(n int64) {
			for responses() < n {
				time.Sleep(200 * time.Microsecond)
			}
		}
		await(8 * streams) // beyond the first messages
		first, before := responses(), cpuTime()
		for b.Loop() {
			await(responses() + streams)
		}
		each := float64(cpuTime()-before) / float64(responses()-first) / 1e3
		b.ReportMetric(each, "cpu-µs/delivery")
		if bare == 0 {
			bare = each
		}
		b.ReportMetric(each/bare, "x-bare")
	}
	counting := func(n *atomic.Int64, recv func(grpc.ClientStream) error) func(grpc.ClientStream) error {
		return func(s grpc.ClientStream) error {
			err := recv(s)
			n.Add(1)
			return err
		}
	}
	b.Run("bare", func(b *testing.B) {
		var n atomic.Int64
		bareClients(b, server(b), streams, passing{}, counting(&n, func(s grpc.ClientStream) error { return s.RecvMsg(nil) }))
		run(b, n.Load)
	})
	for _, transport := range transports {
		b.Run("fleet/"+transport, func(b *testing.B) {
			cfg := fleetConfig(server(b), streams)
			cfg.Spec.Transport = transport
			f := startBench(b, cfg)
			run(b, func() int64 { return f.Counts().Responses })
		})
	}
	b.Run("decoding", func(b *testing.B) {
		var n atomic.Int64
		bareClients(b, server(b), streams, decoding{}, counting(&n, func(s grpc.ClientStream) error {
			return s.RecvMsg(new(discoveryv3.DeltaDiscoveryResponse))
		}))
		run(b, n.Load)
	})
}

func fleetConfig(addr string, n int) fakeproxy.Config {
	cfg := config(addr, xds.Delta, n)
	cfg.Sink = none{}
	return cfg
}

func startBench(b *testing.B, cfg fakeproxy.Config) *fakeproxy.Fleet {
	b.Helper()
	f, err := fakeproxy.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	b.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return f
}
