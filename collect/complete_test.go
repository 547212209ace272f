package collect_test

import (
	"iter"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result"
)

// A control plane that sends half of its clusters first gives proxies that are ready,
// and know half of the mesh. Its pairs are expected all the same.
func TestPairsAreExpectedByTheMeshAndNotByWhatWasSubscribed(t *testing.T) {
	t.Parallel()
	r := newSyncing(t, false, 2, "a", "b")
	r.FleetConnects(r.now, 0)
	r.connect(0, "a", "b")
	r.connect(1, "a")
	r.begin()
	r.mutate(2, "b")
	r.receive(0, "b", 2)
	r.pass(3 * time.Second)
	r.happen(1, event.Subscribed, "b")
	r.receive(1, "b", 2)
	r.mutate(3, "a")
	r.receive(0, "a", 3)
	res := r.finish()
	pairs(t, res.Propagation, result.Propagation{Expected: 4, Deliveries: 3, Undelivered: 1})
	if last := res.Propagation.All.Max; last < 3 {
		t.Errorf("the slowest took %v s, want the 3 s until the cluster came", last)
	}
	s := res.Sync
	if s.IncompleteAtSteady != 1 || s.ClustersLacking != 1 {
		t.Errorf("%d proxies lacked %d clusters at the start of steady load, want 1 and 1", s.IncompleteAtSteady, s.ClustersLacking)
	}
	if d := s.TimeToComplete; d.Count != 2 || d.Max < 3 {
		t.Errorf("time to complete %+v, want 2 samples, the longer over 3 s", d)
	}
}

func TestAProxyWithAForeignStateIsNotComplete(t *testing.T) {
	t.Parallel()
	r := newSyncing(t, false, 1, "a")
	r.happen(0, event.Connected)
	r.happen(0, event.Subscribed, "a")
	r.receive(0, "a", 77)
	r.happen(0, event.Ready)
	r.begin()
	if s := r.finish().Sync; s.IncompleteAtSteady != 1 || s.TimeToComplete != nil {
		t.Errorf("sync %+v, want one incomplete proxy that never was complete", s)
	}
}

func TestAProxyThatAsksForLessStillOwesTheMesh(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, "a", "b")
	r.mutate(2, "a", "b")
	r.receive(0, "a", 2)
	r.happen(0, event.Unsubscribed, "b")
	pairs(t, r.finish().Propagation, result.Propagation{Expected: 1, Undelivered: 1})
}

func TestAnInterruptedRunCallsNothingUndelivered(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, "a")
	r.mutate(2, "a")
	r.receive(0, "a", 2)
	stuck := 0
	res := r.Finish(collect.Final{Interrupted: true, Held: nothingHeld, Truth: noTruth, StuckWarming: &stuck})
	if len(res.Errors) > 0 {
		t.Errorf("errors: %q", res.Errors)
	}
	pairs(t, res.Propagation, result.Propagation{Expected: 2, Deliveries: 1, Pending: 1})
	if res.Convergence != nil {
		t.Errorf("convergence %+v of a run that was not compared", res.Convergence)
	}
	if m := res.Mutations; m.Pending != 1 || m.Complete+m.Incomplete != 0 {
		t.Errorf("mutations %+v, want one pending", m)
	}
}

func nothingHeld(int) iter.Seq2[string, []uint64] { return noTruth }

func noTruth(func(string, []uint64) bool) {}

func TestPairsAreCountedByReplica(t *testing.T) {
	t.Parallel()
	clock := event.NewClock()
	c, err := collect.New(collect.Config{
		Proxies: 2, Variants: make([]xds.Variant, 2), Clock: clock, ReplicaOf: []int{0, 0, 1},
		Baseline: expect("a", baseState),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, Collector: c, now: clock.Now()}
	receive := func(p, address int, state event.Fingerprint) {
		r.Response(&event.Response{
			Proxy: p, Address: address, Type: xds.EDS, Socket: r.now, Received: r.now, Answered: r.now,
			States: []event.ResourceState{{Type: xds.EDS, Name: "a", State: state}},
		})
	}
	for p, address := range []int{1, 2} {
		r.happen(p, event.Connected)
		r.happen(p, event.Subscribed, "a")
		receive(p, address, baseState)
		r.happen(p, event.Ready)
	}
	r.begin()
	r.mutate(2, "a")
	r.pass(20 * ms)
	receive(0, 1, 2)
	r.finish()
	by := r.ByReplica()
	if len(by) != 2 || by[0].Deliveries != 1 || by[0].Undelivered != 0 || by[1].Deliveries != 0 || by[1].Undelivered != 1 {
		t.Fatalf("by replica %+v, want the first with the delivery and the second without", by)
	}
	if by[0].P50 == nil || *by[0].P50 < 0.02 || by[1].P50 != nil {
		t.Errorf("latencies %v and %v, want 20 ms and none", by[0].P50, by[1].P50)
	}
	if one := newRig(t, 1, "a"); one.ByReplica() != nil {
		t.Error("counts by replica of one")
	}
}
