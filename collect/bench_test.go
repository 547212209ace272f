package collect_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// BenchmarkRecord takes note of one delivery at one of 1,000 proxies. Its floor
// is to put the latency into a histogram.
func BenchmarkRecord(b *testing.B) {
	var floor float64
	b.Run("floor", func(b *testing.B) {
		h, v := hdrhistogram.New(1, int64(time.Hour), 3), int64(0)
		for b.Loop() {
			v = (v + 9973) % int64(time.Minute)
			if err := h.RecordValue(v); err != nil {
				b.Fatal(err)
			}
		}
		floor = nanoseconds(b)
	})
	b.Run("delivery", func(b *testing.B) {
		benchmarkRecord(b)
		b.ReportMetric(nanoseconds(b)/floor, "x-floor")
	})
}

func nanoseconds(b *testing.B) float64 {
	b.Helper()
	return float64(b.Elapsed().Nanoseconds()) / float64(b.N)
}

func benchmarkRecord(b *testing.B) {
	b.Helper()
	const proxies, clusters = 1000, 100
	names := make([]string, clusters)
	var baseline []event.Expected
	for i := range names {
		names[i] = fmt.Sprintf("outbound|80||svc-%d.ns.svc.cluster.local", i)
		baseline = append(baseline, expect(names[i], 1)...)
	}
	c, err := collect.New(collect.Config{
		Proxies: proxies, Variants: make([]xds.Variant, proxies), Clock: event.NewClock(), Baseline: baseline,
	})
	if err != nil {
		b.Fatal(err)
	}
	for p := range proxies {
		c.Proxy(&event.ProxyEvent{Proxy: p, Kind: event.Subscribed, Clusters: names})
		c.Proxy(&event.ProxyEvent{Proxy: p, Kind: event.Ready})
	}
	now := c.BeginSteady()
	r := event.Response{Type: xds.EDS, Resources: 1, Bytes: 100, States: make([]event.ResourceState, 1)}
	p, seq := 0, uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		if p == 0 {
			b.StopTimer()
			seq++
			now = now.Add(time.Millisecond)
			r.States[0] = event.ResourceState{Type: xds.EDS, Name: names[seq%clusters], State: event.Fingerprint(seq + 1)}
			m := &event.Mutation{Seq: seq, Scheduled: now, Issued: now, Acked: now, States: expect(r.States[0].Name, r.States[0].State)}
			c.Begin(m)
			c.End(m)
			b.StartTimer()
		}
		r.Proxy, r.Received = p, now.Add(100*time.Millisecond+time.Duration(p)*10*time.Microsecond)
		r.Socket, r.Answered = r.Received-5000, r.Received
		c.Response(&r)
		p = (p + 1) % proxies
	}
}

// BenchmarkBegin takes note of a mutation that 10,000 proxies are to receive.
func BenchmarkBegin(b *testing.B) {
	const proxies = 10_000
	c, err := collect.New(collect.Config{
		Proxies: proxies, Variants: make([]xds.Variant, proxies), Clock: event.NewClock(),
		Baseline: expect("c", 1),
	})
	if err != nil {
		b.Fatal(err)
	}
	for p := range proxies {
		c.Proxy(&event.ProxyEvent{Proxy: p, Kind: event.Subscribed, Clusters: []string{"c"}})
		c.Proxy(&event.ProxyEvent{Proxy: p, Kind: event.Ready})
	}
	now, seq := c.BeginSteady(), uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		seq++
		c.Begin(&event.Mutation{
			Seq: seq, Scheduled: now, Issued: now,
			States: expect("c", event.Fingerprint(seq+1)),
		})
	}
}
