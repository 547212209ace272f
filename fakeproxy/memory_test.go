package fakeproxy_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// marshal encodes a message that the test made.
func marshal(tb testing.TB, m proto.Message) []byte {
	tb.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// initialConfig is n services: clusters, their endpoints, and a listener and a
// route for all.
func initialConfig(tb testing.TB, n int) [][]byte {
	tb.Helper()
	var clusters, assignments []proto.Message
	for i := range n {
		name := fmt.Sprintf("outbound|80||svc-%d.ns-%d.svc.cluster.local", i, i%10)
		clusters = append(clusters, makeCluster(name, "", time.Second))
		assignments = append(assignments, makeEndpoints(name, fmt.Sprintf("10.0.%d.%d:80", i>>8, i&255)))
	}
	return [][]byte{
		marshal(tb, adstest.Delta(adstest.CDS, "1", clusters...)),
		marshal(tb, adstest.Delta(adstest.EDS, "1", assignments...)),
		marshal(tb, adstest.Delta(adstest.LDS, "1", makeListener("l", "r"))),
		marshal(tb, adstest.Delta(adstest.RDS, "1", makeRoute("r", "example.com"))),
	}
}

func memoryInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// BenchmarkMemory reports heap and stacks per stream, the server's share
// included, which is the same for both: of clients that hold nothing, and of
// proxies that hold the same 1,000 services.
func BenchmarkMemory(b *testing.B) {
	const streams, services = 1000, 1000
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			p := newPusher(b)
			before := memoryInUse()
			bareClients(b, p.addr, streams, passing{}, func(s grpc.ClientStream) error { return s.RecvMsg(nil) })
			p.await(streams)
			b.ReportMetric(float64(memoryInUse()-before)/streams/1024, "KiB/stream")
		}
	})
	b.Run("fleet", func(b *testing.B) {
		for b.Loop() {
			p := newPusher(b, initialConfig(b, services)...)
			before := memoryInUse()
			f := startBench(b, fleetConfig(p.addr, streams))
			for f.Counts().Ready < streams {
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(100 * time.Millisecond)
			b.ReportMetric(float64(memoryInUse()-before)/streams/1024, "KiB/stream")
		}
	})
}

// Resources that no proxy holds any more must not pile up in a long run.
func TestTableForgetsWhatNoProxyHolds(t *testing.T) {
	_, f, s := one(t, xds.Delta)
	syncProxy(t, f, s, xds.Delta)
	for i := range 500 {
		version := fmt.Sprint(i)
		s.Send(adstest.Delta(adstest.EDS, version, makeEndpoints("a", fmt.Sprintf("10.1.%d.%d:80", i>>8, i&255))))
		wantAck(t, s.Expect(adstest.EDS), version)
	}
	eventually(t, "the table is small", func() bool {
		runtime.GC()
		return fakeproxy.TableSize(f.Fleet) < 50
	})
}

func longName(i int) string {
	return fmt.Sprintf("outbound|8080||a-service-with-a-rather-long-name-%05d.some-namespace.svc.cluster.local", i)
}
