package collect_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/result"
)

// quantilesOf returns what a report may say of a distribution, in ascending order.
func quantilesOf(d *result.Distribution) []float64 {
	return []float64{d.Min, d.P50, d.P90, d.P99, d.P999, d.Max}
}

// Of mutations that have as many pairs each. With different numbers a mutation counts
// once in the first and last proxy's quantiles, but as often as it has pairs in every
// proxy's.
func TestFirstProxyIsNoSlowerThanEveryAndEveryNoSlowerThanTheLast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		proxies := rapid.IntRange(1, 9).Draw(rt, "proxies")
		r := newRig(t, proxies, "a")
		wait := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(300*ms)).Draw(t, "wait"))
		})
		var newest event.Fingerprint
		for i := range rapid.IntRange(1, 40).Draw(rt, "mutations") {
			newest = event.Fingerprint(10 + i)
			r.mutate(newest, "a")
			for range rapid.IntRange(0, 4).Draw(rt, "deliveries") {
				r.pass(wait.Draw(rt, "before"))
				r.receive(rapid.IntRange(0, proxies-1).Draw(rt, "proxy"), "a", newest)
			}
		}
		for p := range proxies {
			r.pass(wait.Draw(rt, "before the last"))
			r.receive(p, "a", newest)
		}
		found := r.finish().Propagation
		if found.Undelivered > 0 {
			rt.Fatalf("undelivered %d", found.Undelivered)
		}
		first, every, last := quantilesOf(found.FirstProxy), quantilesOf(found.All), quantilesOf(found.LastProxy)
		for i, name := range []string{"min", "p50", "p90", "p99", "p99.9", "max"} {
			if first[i] > every[i] || every[i] > last[i] {
				rt.Fatalf("%s of %d mutations: first proxy %v, every %v, last %v", name, found.LastProxy.Count, first[i], every[i], last[i])
			}
			if i > 0 && every[i] < every[i-1] {
				rt.Fatalf("%s of every proxy is %v, below the quantile before it, %v", name, every[i], every[i-1])
			}
		}
		if arrived := quantilesOf(found.Arrived); arrived[3] > every[3] {
			rt.Fatalf("p99 to arrival %v, to the stamp %v", arrived[3], every[3])
		}
	})
}

func TestQuantileOfTooFewSamplesIsTheLargest(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, "a")
	for i := range 60 {
		r.mutate(event.Fingerprint(10+i), "a")
		r.pass(10 * ms)
		if i == 30 {
			r.pass(800*ms + 123*time.Nanosecond)
		}
		r.receive(0, "a", event.Fingerprint(10+i))
	}
	intervals := r.Intervals()
	interval := intervals.Cut()
	res := r.finish()
	all, row := res.Propagation.All, res.ProxyRows[0]
	// A millisecond passes until the write is answered.
	longest := (811*ms + 123*time.Nanosecond).Seconds()
	for name, got := range map[string]float64{
		"p99 of every proxy": all.P99, "p99 of the last proxy": res.Propagation.LastProxy.P99, "max": all.Max,
		"p99 of the proxy": row.P99, "p99 of the mutation": res.MutationRows[30].P99, "p99 of the second": *interval.P99,
	} {
		if duration(got) != duration(longest) {
			t.Errorf("%s: %v, want the largest of sixty, %v, exactly", name, got, longest)
		}
	}
	if all.P50 > 0.0112 || all.P90 > 0.0112 {
		t.Errorf("p50 %v, p90 %v, want 11 ms", all.P50, all.P90)
	}
	if all.Covers(0.99) || !all.Covers(0.9) || all.Mark("p99") != "max of 60" || all.Mark("p90")+all.Mark("max") != "" {
		t.Errorf("marks %q, %q, %q", all.Mark("p99"), all.Mark("p90"), all.Mark("max"))
	}
}
