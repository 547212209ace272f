package fakeproxy_test

import (
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// https://github.com/envoyproxy/go-control-plane/issues/570,
// https://github.com/istio/istio/issues/10822
func TestThousandConnectionsLeaveNoGoroutineDescriptorOrMemory(t *testing.T) {
	const proxies, cycles, settled = 10, 1000, 200
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	before := openDescriptors(t)
	srv := adstest.Start(t)
	f := start(t, config(srv.Addr, xds.Delta, proxies))
	var first uint64
	for i := range cycles {
		s := srv.Accept(t)
		s.Expect(adstest.CDS)
		s.Send(adstest.Delta(adstest.CDS, "1", makeCluster("a", "", time.Second)))
		wantAck(t, s.Expect(adstest.CDS), "1")
		s.End(nil)
		s.Gone()
		if i == settled {
			first = memoryInUse()
		}
	}
	last := memoryInUse()
	t.Logf("after %d cycles: %d KiB in use, after %d: %d KiB; %d goroutines, %d descriptors",
		settled, first>>10, cycles, last>>10, runtime.NumGoroutine(), openDescriptors(t))
	const noise = 8 << 20 // far below what a leak of 10 KiB a cycle would leave
	if last > first+noise {
		t.Errorf("memory grew from %d to %d bytes in %d cycles", first, last, cycles-settled)
	}
	f.stop()
	srv.Stop()
	eventually(t, "descriptors closed", func() bool { return openDescriptors(t) <= before })
	if c := f.Counts(); c.Connected != 0 || c.Ready != 0 || c.Disconnected < cycles-proxies {
		t.Errorf("counts %+v", c)
	}
	if n := fakeproxy.TableSize(f.Fleet); n > 50 {
		t.Errorf("%d entries in the tables", n)
	}
}

func TestFleetWithSharedConnectionsClosesThem(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	srv := adstest.Start(t)
	f := start(t, config(srv.Addr, xds.Delta, 10, func(c *fakeproxy.Config) { c.Spec.StreamsPerConnection = 5 }))
	for range 10 {
		s := srv.Accept(t)
		s.Expect(adstest.CDS)
		s.Send(adstest.Delta(adstest.CDS, "1"))
		wantAck(t, s.Expect(adstest.CDS), "1")
	}
	eventually(t, "all connected", func() bool { return f.Counts().Connected == 10 })
	if in, out := f.WireBytes(); in == 0 || out == 0 {
		t.Errorf("wire bytes %d in, %d out", in, out)
	}
	f.stop()
	srv.Stop()
}

func TestProxiesConnectFromTheSourceAddressesInTurn(t *testing.T) {
	srv := adstest.Start(t)
	start(t, config(srv.Addr, xds.Delta, 6, func(c *fakeproxy.Config) {
		c.Spec.SourceAddresses = []string{"127.0.0.2", "127.0.0.3"}
	}))
	from := map[string]int{}
	for range 6 {
		host, _, err := net.SplitHostPort(srv.Accept(t).Client())
		if err != nil {
			t.Fatal(err)
		}
		from[host]++
	}
	if from["127.0.0.2"] != 3 || from["127.0.0.3"] != 3 {
		t.Errorf("connections by source: %v", from)
	}
}

func TestRefusedAndDisconnectedAreToldApart(t *testing.T) {
	srv, f, s := one(t, xds.Delta)
	s.Expect(adstest.CDS)
	s.End(status.Error(codes.ResourceExhausted, "too many connections"))
	s = srv.Accept(t)
	s.Expect(adstest.CDS)
	s.Send(adstest.Delta(adstest.CDS, "1"))
	wantAck(t, s.Expect(adstest.CDS), "1")
	s.End(status.Error(codes.Unavailable, "going down"))
	srv.Accept(t)
	eventually(t, "counted", func() bool {
		c := f.Counts()
		return c.Refused == 1 && c.ResourceExhausted == 1 && c.Disconnected == 1 && c.Reconnects == 2
	})
	want := []event.ProxyEventKind{event.Refused, event.Connected, event.Disconnected}
	if got := f.sink.kinds(); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestConnectionRefusedIsCountedAndTriedAgain(t *testing.T) {
	srv := adstest.Start(t)
	srv.Stop()
	f := start(t, config(srv.Addr, xds.Delta, 1))
	eventually(t, "refused", func() bool { return f.Counts().Refused >= 2 })
	adstest.StartAt(t, srv.Addr).Accept(t).Expect(adstest.CDS)
}

func TestReadyAgainAfterReconnect(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			srv, f, s := one(t, v)
			syncProxy(t, f, s, v)
			s.End(nil)
			s = srv.Accept(t)
			s.Send(response(v, adstest.CDS, "1", makeCluster("a", "", time.Second), makeCluster("b", "b-eds", time.Second)))
			s.Send(response(v, adstest.LDS, "1", makeListener("l", "r")))
			eventually(t, "ready", func() bool { return f.Counts().Ready == 1 })
		})
	}
}

func TestSilentServerAfterReconnectLeavesTheProxyReady(t *testing.T) {
	srv, f, s := one(t, xds.SotW)
	syncProxy(t, f, s, xds.SotW)
	s.End(nil)
	s = srv.Accept(t)
	s.Expect(adstest.CDS)
	eventually(t, "ready", func() bool { return f.Counts().Ready == 1 && f.Counts().Connected == 1 })
}

// https://github.com/grpc/grpc-go/issues/5790
func TestResponseOverFourMiBIsReceivedUnlessLimited(t *testing.T) {
	big := makeEndpoints("a")
	for _, limit := range []int{0, 1 << 20} {
		srv := adstest.Start(t, grpc.MaxSendMsgSize(1<<30))
		f := start(t, config(srv.Addr, xds.Delta, 1, func(c *fakeproxy.Config) { c.Spec.MaxReceiveBytes = limit }))
		s := srv.Accept(t)
		s.Expect(adstest.CDS)
		m := adstest.Delta(adstest.EDS, "1", big)
		m.RemovedResources = []string{strings.Repeat("x", 5<<20)}
		s.Send(m)
		if limit == 0 {
			wantAck(t, s.Expect(adstest.EDS), "1")
			continue
		}
		eventually(t, "exhausted", func() bool { return f.Counts().ResourceExhausted > 0 })
	}
}

func TestReconnectRequestOverFourMiBIsSentAndItsSizeRecorded(t *testing.T) {
	srv := adstest.Start(t, grpc.MaxRecvMsgSize(1<<30))
	f := start(t, config(srv.Addr, xds.SotW, 1))
	s := srv.Accept(t)
	s.Expect(adstest.CDS)
	name := strings.Repeat("x", 5<<20)
	s.Send(adstest.SotW(adstest.CDS, "1", makeCluster("a", name, time.Second)))
	wantNames(t, s.Expect(adstest.EDS), name)
	s.End(nil)
	wantNames(t, srv.Accept(t).Expect(adstest.EDS), name)
	if got := f.Counts().MaxRequestBytes; got < 5<<20 {
		t.Errorf("largest request %d bytes, want over 5 MiB", got)
	}
}

func TestMalformedFrameEndsTheStreamOnly(t *testing.T) {
	srv, f, s := one(t, xds.Delta)
	s.Expect(adstest.CDS)
	s.Send(adstest.Garbage("\x12\xff\xff\xff"))
	s.Gone()
	srv.Accept(t).Expect(adstest.CDS)
	if c := f.Counts(); c.Refused != 1 {
		t.Errorf("counts %+v", c)
	}
}

func TestUnknownTypeIsIgnoredAndCounted(t *testing.T) {
	_, f, s := one(t, xds.SotW)
	s.Expect(adstest.CDS)
	s.Send(adstest.SotW("type.googleapis.com/envoy.config.runtime.v3.Runtime", "1", makeCluster("a", "", time.Second)))
	eventually(t, "counted", func() bool { return f.Counts().UnknownType == 1 })
}
