package fakeproxy_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// BenchmarkHandle measures what the fleet does with a received response,
// transport apart, for proxies that hold 1,000 services.
func BenchmarkHandle(b *testing.B) {
	const services = 1000
	names := func(extra ...proto.Message) (clusters, listeners []proto.Message) {
		for i := range services {
			clusters = append(clusters, makeCluster(longName(i), "", time.Second))
			listeners = append(listeners, makeListener(longName(i), fmt.Sprint("route-", i%10)))
		}
		return clusters, append(listeners, extra...)
	}
	clusters, _ := names()
	eds := func(i int) proto.Message {
		return makeEndpoints(longName(0), fmt.Sprintf("10.%d.%d.%d:80", i>>16&255, i>>8&255, i&255))
	}
	b.Run("sotw EDS of one, first sight", func(b *testing.B) {
		n := 0
		benchHandle(b, xds.SotW, 1, [][]byte{marshal(b, adstest.SotW(adstest.CDS, "1", clusters...))}, func(int) []byte {
			n++
			return marshal(b, adstest.SotW(adstest.EDS, "2", eds(n)))
		})
	})
	b.Run("sotw EDS of one, shared", func(b *testing.B) {
		m := [2][]byte{marshal(b, adstest.SotW(adstest.EDS, "2", eds(1))), marshal(b, adstest.SotW(adstest.EDS, "3", eds(2)))}
		benchHandle(b, xds.SotW, 1, [][]byte{marshal(b, adstest.SotW(adstest.CDS, "1", clusters...))}, func(i int) []byte { return m[i%2] })
	})
	b.Run("sotw CDS of all, shared", func(b *testing.B) {
		m := marshal(b, adstest.SotW(adstest.CDS, "1", clusters...))
		benchHandle(b, xds.SotW, 1, nil, func(int) []byte { return m })
	})
	b.Run("sotw LDS of all, one differs per proxy", func(b *testing.B) {
		const proxies = 100
		var m [proxies][2][]byte
		for p := range m {
			for rev := range m[p] {
				_, l := names(makeListener(fmt.Sprintf("inbound-%d-%d", p, rev), "local"))
				m[p][rev] = marshal(b, adstest.SotW(adstest.LDS, "1", l...))
			}
		}
		benchHandle(b, xds.SotW, proxies, nil, func(i int) []byte { return m[i%proxies][i/proxies%2] })
	})
}

func benchHandle(b *testing.B, v xds.Variant, proxies int, first [][]byte, next func(i int) []byte) {
	b.Helper()
	cfg := config("127.0.0.1:1", v, proxies)
	cfg.Sink = none{}
	f, err := fakeproxy.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	var feeders []*fakeproxy.Feeder
	feed := func(p int, m []byte) {
		if err := feeders[p].Feed(m); err != nil {
			b.Fatal(err)
		}
	}
	for p := range proxies {
		d := fakeproxy.NewFeeder(f, p)
		feeders = append(feeders, d)
		for _, m := range first {
			feed(p, m)
		}
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		feed(i%proxies, next(i))
		i++
	}
}
