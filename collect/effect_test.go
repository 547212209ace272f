package collect_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result/effect"
)

// send gives a proxy a response, changed bytes of which are news.
func (r *rig) send(p int, v xds.Variant, t xds.Type, bytes, changed int, states ...event.ResourceState) {
	r.Response(&event.Response{
		Proxy: p, Variant: v, Type: t, Resources: 2, Duplicates: 1, Bytes: bytes, ChangedBytes: changed,
		Socket: r.now - 1000, Received: r.now, Answered: r.now + 1000, States: states,
	})
}

func shows(cluster string, state event.Fingerprint) event.ResourceState {
	return event.ResourceState{Type: xds.EDS, Name: cluster, State: state}
}

func TestResponseCountsForTheNewestMutationIssuedBeforeIt(t *testing.T) {
	r := newRig(t, 3, "a")
	r.send(0, xds.SotW, xds.LDS, 500, 0) // before any mutation: nobody's
	first := r.issue(2, "a")
	r.pass(time.Millisecond)
	r.answer(first, nil)
	before := r.now
	r.pass(time.Millisecond)
	second := r.issue(3, "a")
	second.Kind = "service-add"
	r.answer(second, nil)
	r.send(0, xds.SotW, xds.CDS, 300, 200)
	r.now = before // handed over late, but received before the second was issued
	r.send(1, xds.SotW, xds.EDS, 100, 50, shows("a", 2))
	r.now = before.Add(2 * time.Millisecond)
	r.send(1, xds.SotW, xds.CDS, 300, 200)
	r.send(1, xds.SotW, xds.EDS, 100, 50, shows("a", 3))
	rows := r.finish().MutationRows
	want := []effect.Effect{
		{Types: map[string]effect.Sent{"eds": {Responses: 1, Resources: 2, Bytes: 100}}, ChangedBytes: 50, Duplicates: 1, Amplification: new(2.0)},
		{
			Types: map[string]effect.Sent{
				"cds": {Responses: 2, Resources: 4, Bytes: 600}, "eds": {Responses: 1, Resources: 2, Bytes: 100},
			},
			ChangedBytes: 450, Duplicates: 3, Amplification: new(700.0 / 450),
		},
	}
	for i, row := range rows {
		if diff := cmp.Diff(want[i], row.Effect); diff != "" {
			t.Errorf("mutation %d (-want +got):\n%s", i+1, diff)
		}
	}
	if rows[0].ProxiesReached != 1 || rows[1].ProxiesReached != 2 {
		t.Errorf("%d and %d proxies reached, want 1 and 2", rows[0].ProxiesReached, rows[1].ProxiesReached)
	}
}

func TestWhatAProxyFetchesOnConnectingIsNoEffect(t *testing.T) {
	r := newRig(t, 2, "a")
	r.mutate(2, "a")
	r.send(0, xds.SotW, xds.EDS, 100, 50, shows("a", 2))
	r.happen(1, event.Disconnected)
	r.happen(1, event.Connected)
	r.send(1, xds.SotW, xds.CDS, 300, 300)
	r.connect(1, "a")
	r.send(1, xds.SotW, xds.EDS, 100, 0, shows("a", 2))
	row := r.finish().MutationRows[0]
	if row.ProxiesReached != 2 || row.Effect.Types["cds"].Responses != 0 || row.Effect.Types["eds"].Responses != 2 {
		t.Errorf("%d proxies reached by %+v, want no CDS", row.ProxiesReached, row.Effect.Types)
	}
}

func TestEffectsOfAKindAreSplitByVariant(t *testing.T) {
	clock := event.NewClock()
	c, err := collect.New(collect.Config{
		Proxies: 2, Variants: []xds.Variant{xds.SotW, xds.Delta}, Kinds: []string{"sidecar", "router"}, Clock: clock,
		Baseline: expect("a", baseState),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, Collector: c, now: clock.Now()}
	r.connect(0, "a")
	r.connect(1, "a")
	r.begin()
	r.mutate(2, "a") // 1 ms
	r.send(0, xds.SotW, xds.CDS, 300, 100)
	r.send(0, xds.SotW, xds.EDS, 100, 100, shows("a", 2))
	r.pass(9 * time.Millisecond)
	r.send(1, xds.Delta, xds.EDS, 80, 80, shows("a", 2))
	r.mutate(3, "a")
	r.send(1, xds.Delta, xds.EDS, 80, 80, shows("a", 3))
	r.send(0, xds.SotW, xds.EDS, 80, 80, shows("a", 3))
	noop := r.issue(0)
	r.answer(noop, nil)
	res := r.finish()
	k := res.Mutations.Effects["pod-delete"]
	if k.Applied != 3 || k.Noop != 1 || k.Operations != 3 {
		t.Errorf("%d applied, %d no-op, %d operations, want 3, 1, 3", k.Applied, k.Noop, k.Operations)
	}
	sotw, delta := k.ByVariant["sotw"], k.ByVariant["delta"]
	if sotw.FullShare != 0.5 || delta.FullShare != 0 || k.FullShare != 0.5 {
		t.Errorf("full shares %v, %v, %v: want 0.5 of SotW, 0 of Delta, 0.5 of both", sotw.FullShare, delta.FullShare, k.FullShare)
	}
	if sotw.ProxiesReached != 1 || delta.ProxiesReached != 1 || k.ProxiesReached != 2 {
		t.Errorf("proxies reached %d, %d, %d: want 1, 1, 2", sotw.ProxiesReached, delta.ProxiesReached, k.ProxiesReached)
	}
	within(t, "SotW's last", *sotw.Last, 1e-3)
	within(t, "Delta's p50", *delta.P50, 1e-3)
	if n := k.Total(); n != sotw.Total().Plus(delta.Total()) || n.Responses != 5 {
		t.Errorf("%+v is not the sum of both variants", n)
	}
	router := res.Proxies.ByKind["router"]
	if router.Deliveries != 2 || router.Volume["eds"].Bytes != 160 || router.Ready != 1 {
		t.Errorf("router: %+v, want its own 2 deliveries and 160 bytes", router)
	}
	within(t, "the router's maximum", *router.Max, 10e-3)
}

// within wants a time to the precision of coarse histograms.
func within(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got < want*0.98 || got > want*1.02 {
		t.Errorf("%s is %v s, want %v", what, got, want)
	}
}
