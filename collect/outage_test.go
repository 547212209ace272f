package collect_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result"
)

func TestDriftCountsGhostsAndMissingInTheMiddleOfARun(t *testing.T) {
	r := newRig(t, 3, "a")
	r.happen(2, event.Retired)
	held := map[int][]uint64{0: {1, 2, 3}, 1: {1, 4}, 2: {9}}
	d := r.Drift(collect.Final{
		Held:  func(p int) iter.Seq2[string, []uint64] { return maps.All(map[string][]uint64{"a": held[p]}) },
		Truth: maps.All(map[string][]uint64{"a": {1, 4}}),
	})
	if want := (result.Drift{StaleEndpoints: 2, MissingEndpoints: 1, Diverged: 1}); d != want {
		t.Errorf("drift %+v, want %+v", d, want)
	}
	r.mutate(2, "a")
	r.receive(0, "a", 2)
	r.receive(1, "a", 2)
	if p := r.finish().Propagation; p.Deliveries != 2 {
		t.Errorf("the run did not go on: %+v", p)
	}
}

func TestTimeToReadyCountsFromWhenTheFirstAttemptWasDue(t *testing.T) {
	r := newSyncing(t, false, 2, "a")
	r.FleetConnects(r.now, 4)
	r.happen(1, event.Connected) // due 250 ms after the start
	r.happen(1, event.Refused)
	r.pass(3 * time.Second)
	r.connect(1, "a")
	r.happen(1, event.Disconnected)
	r.connect(1, "a")
	y := r.finish().Sync
	if y.TimeToReady.Count != 1 || !near(duration(y.TimeToReady.Max), 2750*time.Millisecond) {
		t.Errorf("time to ready: %+v", y.TimeToReady)
	}
	if y.ReadyAgain.Count != 1 || !near(duration(y.ReadyAgain.Max), 50*time.Millisecond) {
		t.Errorf("ready again: %+v", y.ReadyAgain)
	}
}

func TestReasonsOfNACKsAreCountedAndBounded(t *testing.T) {
	r := newRig(t, 1, "a")
	nack := func(reason string, typ xds.Type) {
		r.Response(&event.Response{Type: typ, Socket: r.now, Received: r.now, Answered: r.now, Nacked: true, Reason: reason})
	}
	nack("first", xds.CDS)
	if !r.Rejects(0, xds.CDS) || r.Rejects(0, xds.EDS) || r.Rejects(7, xds.CDS) {
		t.Error("after a NACK of CDS: not that alone is rejected")
	}
	r.Response(&event.Response{Type: xds.CDS, Socket: r.now, Received: r.now, Answered: r.now})
	if r.Rejects(0, xds.CDS) {
		t.Error("still rejected after an ACK")
	}
	for i := range 100 {
		nack(fmt.Sprintf("cluster %d has no name", i), xds.CDS)
	}
	nack("first", xds.CDS)
	reasons := r.finish().Acks.Reasons
	total := int64(0)
	for _, n := range reasons {
		total += n
	}
	if total != 102 || reasons["first"] != 2 || len(reasons) > 20 {
		t.Errorf("%d NACKs by %d reasons: %v", total, len(reasons), reasons)
	}
}

func TestResultWithoutNACKsHasNoReasons(t *testing.T) {
	r := newRig(t, 1, "a")
	r.Proxy(&event.ProxyEvent{Kind: event.Disconnected, At: r.now, Err: errors.New("gone")})
	res := r.finish()
	if res.Acks.Reasons != nil || res.Outages != nil || res.Proxies.Misbehaviour != nil {
		t.Errorf("acks %+v, outages %v, proxies %+v", res.Acks, res.Outages, res.Proxies)
	}
}
