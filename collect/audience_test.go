package collect_test

import (
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result"
)

// evenOnes is an audience of the proxies with even numbers.
var evenOnes = &event.Audience{Namespaces: []string{"even"}}

func cds(name string, state event.Fingerprint) event.ResourceState {
	return event.ResourceState{Type: xds.CDS, Name: name, State: state}
}

// newAudienceRig returns a rig of n ready proxies in its steady phase, in which cluster "old"
// is known to all, its endpoints to those with even numbers.
func newAudienceRig(t *testing.T, n int) *rig {
	t.Helper()
	clock := event.NewClock()
	c, err := collect.New(collect.Config{
		Proxies: n, Variants: make([]xds.Variant, n), Clock: clock, SettleAfter: time.Nanosecond,
		Member: func(a *event.Audience, p int) bool { return a == everyone || p%2 == 0 },
		Baseline: []event.Expected{
			{ResourceState: cds("old", event.Present), Audience: everyone},
			{ResourceState: event.ResourceState{Type: xds.EDS, Name: "old", State: baseState}, Audience: evenOnes},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, Collector: c, now: clock.Now()}
	for p := range n {
		r.happen(p, event.Connected)
		r.see(p, cds("old", event.Present))
		if p%2 == 0 {
			r.happen(p, event.Subscribed, "old")
			r.receive(p, "old", baseState)
		}
		r.happen(p, event.Ready)
	}
	r.begin()
	return r
}

// see lets a proxy receive a state of any type.
func (r *rig) see(p int, states ...event.ResourceState) {
	r.Response(&event.Response{
		Proxy: p, Type: states[0].Type, Resources: 1, Bytes: 100,
		Socket: r.now - 1000, Received: r.now, Answered: r.now + 1000, States: states,
	})
}

// change issues and answers a mutation.
func (r *rig) change(kind string, states ...event.Expected) {
	r.seq++
	m := &event.Mutation{Seq: r.seq, Op: r.seq, Kind: kind, Service: "ns/svc", Scheduled: r.now, Issued: r.now, States: states}
	r.Begin(m)
	r.pass(time.Millisecond)
	r.answer(m, nil)
}

func TestOnlyTheAudienceOwesAMutation(t *testing.T) {
	t.Parallel()
	r := newAudienceRig(t, 4)
	r.change("service-add", event.Expected{ResourceState: cds("new", event.Present), Audience: evenOnes})
	r.see(0, cds("new", event.Present))
	r.see(1, cds("new", event.Present)) // told although it need not be
	pairs(t, r.finish().Propagation, result.Propagation{Expected: 2, Deliveries: 1, Undelivered: 1})
}

func TestAServiceIsRemovedOnceTheClusterIsAndItsEndpointsAreNoLongerAskedFor(t *testing.T) {
	t.Parallel()
	r := newAudienceRig(t, 4)
	r.change("service-remove",
		event.Expected{ResourceState: cds("old", event.Absent), Audience: everyone},
		event.Expected{ResourceState: event.ResourceState{Type: xds.EDS, Name: "old"}, Audience: evenOnes})
	for p := range 4 {
		r.see(p, cds("old", event.Absent))
	}
	if got := r.Progress().Deliveries; got != 2 {
		t.Errorf("%d delivered before the endpoints are dropped, want those 2 of proxies that know none", got)
	}
	r.happen(0, event.Unsubscribed, "old")
	pairs(t, r.finish().Propagation, result.Propagation{Expected: 4, Deliveries: 3, Undelivered: 1})
}

func TestAServiceIsRemovedAlsoWhereTheClusterIsTheLastToGo(t *testing.T) {
	t.Parallel()
	r := newAudienceRig(t, 2)
	r.change("service-remove",
		event.Expected{ResourceState: cds("old", event.Absent), Audience: everyone},
		event.Expected{ResourceState: event.ResourceState{Type: xds.EDS, Name: "old"}, Audience: evenOnes})
	r.happen(0, event.Unsubscribed, "old")
	r.see(0, cds("old", event.Absent))
	pairs(t, r.finish().Propagation, result.Propagation{Expected: 2, Deliveries: 1, Undelivered: 1})
}

// TestWhatCameAndWentBetweenTwoPushesIsNotUndelivered has a cluster come and go before the
// control plane pushes: nothing has to be sent. What proxies know is to go must be told.
func TestWhatCameAndWentBetweenTwoPushesIsNotUndelivered(t *testing.T) {
	t.Parallel()
	r := newAudienceRig(t, 2)
	r.change("service-add", event.Expected{ResourceState: cds("new", event.Present), Audience: everyone})
	r.see(1, cds("new", event.Present))
	r.change("service-remove", event.Expected{ResourceState: cds("new", event.Absent), Audience: everyone})
	pairs(t, r.finish().Propagation, result.Propagation{Expected: 4, Deliveries: 3, Undelivered: 1, Unobserved: 2})
}

// TestWhatStoodLongAndWasNeverToldIsUndelivered has two clusters come and go: one at once,
// one after a time in which others were told three times over.
func TestWhatStoodLongAndWasNeverToldIsUndelivered(t *testing.T) {
	t.Parallel()
	r := newAudienceRig(t, 1)
	present, absent := cds("brief", event.Present), cds("brief", event.Absent)
	r.change("service-add", event.Expected{ResourceState: present, Audience: everyone})
	r.pass(50 * time.Millisecond)
	r.change("service-remove", event.Expected{ResourceState: absent, Audience: everyone})
	present, absent = cds("long", event.Present), cds("long", event.Absent)
	r.change("service-add", event.Expected{ResourceState: present, Audience: everyone})
	r.change("service-add", event.Expected{ResourceState: cds("told", event.Present), Audience: everyone})
	r.pass(100 * time.Millisecond)
	r.see(0, cds("told", event.Present))
	r.pass(200 * time.Millisecond)
	r.change("service-remove", event.Expected{ResourceState: absent, Audience: everyone})
	pairs(t, r.finish().Propagation, result.Propagation{Expected: 5, Deliveries: 4, Undelivered: 1, Unobserved: 3})
}

func TestWhatIsFollowedOutlastsAReconnect(t *testing.T) {
	t.Parallel()
	r := newAudienceRig(t, 1)
	r.happen(0, event.Disconnected)
	r.happen(0, event.Connected)
	r.receive(0, "old", baseState)
	r.happen(0, event.Ready)
	r.pass(time.Millisecond)
	r.change("destination-rule-update", event.Expected{ResourceState: cds("old", event.MarkState(1)), Audience: everyone})
	r.see(0, cds("old", event.MarkState(1)))
	r.see(0, cds("old", event.MarkState(9)))
	pairs(t, r.finish().Propagation, result.Propagation{Expected: 1, Deliveries: 1, UnknownStates: 1})
}

func TestConvergenceComparesWhatIsFollowedAndWhatScopeHides(t *testing.T) {
	t.Parallel()
	r := newAudienceRig(t, 4)
	r.change("destination-rule-update", event.Expected{ResourceState: cds("old", event.MarkState(1)), Audience: everyone})
	res := r.Finish(collect.Final{
		Truth: maps.All(map[string][]uint64{"old": {1}}),
		Held: func(p int) iter.Seq2[string, []uint64] {
			return maps.All([]map[string][]uint64{{"old": {1}}, {}, {}, {}}[p]) // odd ones need not know it
		},
		Followed: func(p int) iter.Seq[event.ResourceState] {
			return slices.Values([]event.ResourceState{cds("old", event.MarkState(1+p/3)), cds("foreign", event.Present)})
		},
	})
	want := &result.Convergence{
		Diverged: 2, MissingClusters: 1, DivergedResources: 1,
		Examples: []result.Divergence{{
			Proxy: 3, Type: "cds", Cluster: "old", Held: text(event.MarkState(2)), Wanted: text(event.MarkState(1)),
		}},
	}
	if diff := cmp.Diff(want, res.Convergence); diff != "" {
		t.Errorf("convergence (-want +got):\n%s", diff)
	}
}

func TestARemovedClusterThatAProxyKeepsIsStale(t *testing.T) {
	t.Parallel()
	r := newAudienceRig(t, 1)
	res := r.Finish(collect.Final{
		Truth: maps.All(map[string][]uint64{}),
		Held:  func(int) iter.Seq2[string, []uint64] { return maps.All(map[string][]uint64{"old": {1, 2}}) },
	})
	want := &result.Convergence{
		Diverged: 1, StaleEndpoints: 2, Examples: []result.Divergence{{Cluster: "old", Stale: 2}},
	}
	if diff := cmp.Diff(want, res.Convergence); diff != "" {
		t.Errorf("convergence (-want +got):\n%s", diff)
	}
}
