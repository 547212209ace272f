package fakeproxy_test

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// stopsInTime stops a fleet, which must not wait for its peer.
func stopsInTime(t *testing.T, f *fleet) {
	t.Helper()
	const bound = 10 * time.Second // a second and a half on an idle machine
	start := time.Now()
	f.stop()
	took := time.Since(start)
	t.Logf("stopped in %v", took)
	if took > bound {
		t.Errorf("the fleet took %v to stop, want at most %v", took, bound)
	}
}

// listen accepts connections and hands them to serve, which runs until they are
// closed at the end of the test.
func listen(t *testing.T, serve func(net.Conn)) (addr string, accepted *atomic.Int64) {
	t.Helper()
	var lc net.ListenConfig
	lis, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted = new(atomic.Int64)
	var conns []net.Conn // owned by the accepting goroutine until it ends
	var accepting, serving sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
			accepted.Add(1)
			serving.Go(func() { serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = lis.Close()
		accepting.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
		serving.Wait()
	})
	return lis.Addr().String(), accepted
}

func TestFleetStopsThoughThePeerNeverSpeaksHTTP2(t *testing.T) {
	t.Parallel()
	addr, accepted := listen(t, func(net.Conn) {})
	f := start(t, config(addr, xds.Delta, 3))
	eventually(t, "connections", func() bool { return accepted.Load() == 3 })
	stopsInTime(t, f)
	if s := f.Stream(0); s.Open || s.Connected {
		t.Errorf("stream %+v, want none", s)
	}
}

func TestFleetStopsThoughNoStreamIsEverAnswered(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			srv := adstest.Start(t)
			f := start(t, config(srv.Addr, v, 3))
			for range 3 {
				srv.Accept(t).Expect(adstest.LDS)
			}
			for i := range 3 {
				s := f.Stream(i)
				if cds := s.Types[xds.CDS]; !s.Open || s.Connected || !cds.Asked || cds.Responded != 0 {
					t.Errorf("stream %+v, want one that is open, has asked for clusters, and was never answered", s)
				}
				if s.Types[xds.EDS].Asked {
					t.Errorf("stream %+v has asked for endpoints", s)
				}
			}
			stopsInTime(t, f)
		})
	}
}

func TestFleetStopsThoughNoFurtherStreamMayBegin(t *testing.T) {
	t.Parallel()
	srv := adstest.Start(t, grpc.MaxConcurrentStreams(1))
	cfg := config(srv.Addr, xds.Delta, 2)
	cfg.Spec.StreamsPerConnection = 2
	f := start(t, cfg)
	srv.Accept(t).Expect(adstest.LDS)
	stopsInTime(t, f)
}

// TestTypeOrVariantThatIsNeverAnsweredIsNamed has a server that answers Delta streams
// with clusters alone, and SotW streams not at all.
func TestTypeOrVariantThatIsNeverAnsweredIsNamed(t *testing.T) {
	t.Parallel()
	clusters := marshal(t, adstest.Delta(adstest.CDS, "1"))
	srv := grpc.NewServer(grpc.ForceServerCodecV2(passing{}), grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		if method, _ := grpc.MethodFromServerStream(s); strings.Contains(method, "/Delta") {
			if err := s.SendMsg(encoded(clusters)); err != nil {
				return err
			}
		}
		<-s.Context().Done()
		return nil
	}))
	var lc net.ListenConfig
	lis, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(lis) })
	t.Cleanup(func() { srv.Stop(); serving.Wait() })

	cfg := config(lis.Addr().String(), xds.Delta, 2)
	cfg.Identities[1].Variant = xds.SotW
	f := start(t, cfg)
	eventually(t, "one response, both asked", func() bool {
		return f.Counts().Responses == 1 && f.Stream(1).Types[xds.LDS].Asked
	})
	delta, sotw := f.Stream(0), f.Stream(1)
	if !delta.Connected || delta.Types[xds.CDS].Responded == 0 || !delta.Types[xds.LDS].Asked || delta.Types[xds.LDS].Responded != 0 {
		t.Errorf("Delta %+v, want an answer on clusters and none on listeners", delta)
	}
	if sotw.Connected || sotw.Types[xds.CDS].Responded != 0 || !sotw.Types[xds.CDS].Asked {
		t.Errorf("SotW %+v, want no answer", sotw)
	}
	stopsInTime(t, f)
}

// TestFleetStopsThoughThePeerStopsReading fills the socket, so that not even the end
// of the connection can be written.
func TestFleetStopsThoughThePeerStopsReading(t *testing.T) {
	t.Parallel()
	srv := adstest.Start(t, grpc.InitialWindowSize(1<<30), grpc.InitialConnWindowSize(1<<30))
	var stalled atomic.Bool
	ended := make(chan struct{})
	addr, _ := listen(t, func(c net.Conn) {
		var d net.Dialer
		to, err := d.DialContext(t.Context(), "tcp", srv.Addr)
		if err != nil {
			return
		}
		var back sync.WaitGroup
		back.Go(func() { relay(c, to, nil, ended) })
		relay(to, c, &stalled, ended)
		_ = to.Close()
		back.Wait()
	})
	t.Cleanup(func() { close(ended) }) // before listen's own, which waits
	f := start(t, config(addr, xds.SotW, 1))
	s := srv.Accept(t)
	s.Expect(adstest.CDS)
	var clusters []proto.Message
	for i := range 2000 {
		clusters = append(clusters, makeCluster(longName(i), "", time.Second))
	}
	s.Send(adstest.SotW(adstest.CDS, "1", clusters...))
	s.Expect(adstest.EDS)
	stalled.Store(true)
	const pushes = 200 // each is answered with all names, 200 KB
	for range pushes {
		s.Send(adstest.SotW(adstest.EDS, "1", makeEndpoints(longName(0), "10.0.0.1:80")))
	}
	eventually(t, "all received", func() bool { return f.Counts().Responses == pushes+1 })
	settled(t, "the socket is full", func() int64 { _, out := f.WireBytes(); return out })
	stopsInTime(t, f)
}

// settled waits until a number has not changed for a while.
func settled(t *testing.T, what string, number func() int64) {
	t.Helper()
	last := int64(-1)
	eventually(t, what, func() bool {
		before := last
		last = number()
		time.Sleep(100 * time.Millisecond)
		return last == before
	})
}

// relay copies until either side is closed; once it has stalled, it reads no more.
func relay(to, from net.Conn, stalled *atomic.Bool, ended <-chan struct{}) {
	b := make([]byte, 4096)
	for {
		if stalled != nil && stalled.Load() {
			<-ended
			return
		}
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

func TestFleetStopsThoughTheControlPlaneIsStopped(t *testing.T) {
	t.Parallel()
	const proxies = 20
	addr, process := serverProcess(t, 10, pushTo+"=20")
	f := start(t, config(addr, xds.Delta, proxies))
	eventually(t, "pushes", func() bool { return f.Counts().Responses > 10*proxies })
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	settled(t, "it is silent", func() int64 { return f.Counts().Responses })
	if c := f.Counts(); c.Connected != proxies {
		t.Errorf("%d connected, want all: a stopped peer closes nothing", c.Connected)
	}
	if s := f.Stream(0); !s.Open || s.Types[xds.EDS].Responded == 0 {
		t.Errorf("stream %+v", s)
	}
	stopsInTime(t, f)
}
