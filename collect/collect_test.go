package collect_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result"
)

const ms = time.Millisecond

// pairs compares the books of the pairs with what is wanted.
func pairs(t *testing.T, got *result.Propagation, want result.Propagation) {
	t.Helper()
	ignore := cmpopts.IgnoreFields(result.Propagation{}, "All", "Arrived", "LastArrived", "FromAck", "FirstProxy", "LastProxy", "Spread", "Examples", "PushesPerProxy", "MutationsPerPush")
	if diff := cmp.Diff(&want, got, ignore); diff != "" {
		t.Errorf("propagation (-want +got):\n%s", diff)
	}
}

func TestLatencyCountsFromIntendedAndFromAck(t *testing.T) {
	r := newRig(t, 2, "a")
	m := &event.Mutation{
		Seq: 1, Kind: "pod-add", Service: "ns/svc",
		Scheduled: r.now, Issued: r.now.Add(20 * ms), States: expect("a", 2),
	}
	r.Begin(m)
	r.pass(30 * ms)
	r.answer(m, nil)
	r.pass(70 * ms)
	r.receive(0, "a", 2)
	r.pass(100 * ms)
	r.receive(1, "a", 2)

	res := r.finish()
	p := res.Propagation
	for name, x := range map[string]struct {
		got  float64
		want time.Duration
	}{
		"all.max": {p.All.Max, 200 * ms}, "all.p50": {p.All.P50, 100 * ms},
		"fromAck.max": {p.FromAck.Max, 170 * ms}, "firstProxy": {p.FirstProxy.P50, 100 * ms},
		"lastProxy": {p.LastProxy.P50, 200 * ms}, "spread": {p.Spread.P50, 100 * ms},
		"scheduleLag": {res.Harness.ScheduleLag.P99, 20 * ms},
	} {
		if !near(duration(x.got), x.want) {
			t.Errorf("%s = %s, want %s", name, duration(x.got), x.want)
		}
	}
	pairs(t, p, result.Propagation{Expected: 2, Deliveries: 2})
	if res.Mutations.Late != 1 {
		t.Errorf("late = %d, want 1: issued 20 ms after scheduled", res.Mutations.Late)
	}
}

func TestLaterStateDeliversOlderMutations(t *testing.T) {
	r := newRig(t, 1, "a")
	r.mutate(2, "a")
	r.mutate(3, "a")
	r.mutate(4, "a")
	r.receive(0, "a", 3)
	res := r.finish()
	pairs(t, res.Propagation, result.Propagation{Expected: 3, Deliveries: 2, Coalesced: 1, Undelivered: 1})
	if got := *res.Mutations; got.Complete != 2 || got.Incomplete != 1 || got.Applied != 3 {
		t.Errorf("mutations = %+v, want 3 applied, 2 complete, 1 incomplete", got)
	}
}

func TestDeliveredOnlyWhenEverySubscribedClusterHasArrived(t *testing.T) {
	r := newRig(t, 1, "a", "b")
	r.mutate(2, "a", "b")
	r.pass(10 * ms)
	r.receive(0, "a", 2)
	if r.Pending() != 1 {
		t.Errorf("pending = %d after one of two clusters, want 1", r.Pending())
	}
	r.pass(10 * ms)
	r.receive(0, "b", 2)
	res := r.finish()
	pairs(t, res.Propagation, result.Propagation{Expected: 1, Deliveries: 1})
	if got := duration(res.Propagation.All.Max); !near(got, 21*ms) {
		t.Errorf("latency = %s, want that of the last cluster, 21 ms", got)
	}
}

func TestUnsubscribedClusterIsNotAwaitedOfAScopedProxy(t *testing.T) {
	r := newScopedRig(t, true, 2, "a", "b")
	r.happen(0, event.Unsubscribed, "b")
	r.happen(1, event.Unsubscribed, "a", "b")
	r.mutate(2, "a", "b")
	r.receive(0, "a", 2)
	pairs(t, r.finish().Propagation, result.Propagation{Expected: 1, Deliveries: 1})
}

func TestUnsubscribingEndsPairsOfAScopedProxy(t *testing.T) {
	r := newScopedRig(t, true, 2, "a", "b")
	r.mutate(2, "a", "b")
	r.receive(0, "a", 2)
	r.happen(0, event.Unsubscribed, "b")
	r.happen(1, event.Unsubscribed, "a", "b")
	pairs(t, r.finish().Propagation, result.Propagation{Expected: 2, Deliveries: 1, Retired: 1})
}

func TestSilentMutationHasNoPairs(t *testing.T) {
	r := newRig(t, 3, "a")
	r.mutate(0)
	res := r.finish()
	pairs(t, res.Propagation, result.Propagation{})
	if got := res.Mutations; got.Noop != 1 || got.Applied != 1 || got.Complete != 0 {
		t.Errorf("mutations = %+v, want one no-op and none complete", got)
	}
}

func TestDisconnectInterruptsAndRetirementRetires(t *testing.T) {
	r := newRig(t, 3, "a")
	r.mutate(2, "a")
	r.happen(0, event.Disconnected)
	r.happen(1, event.Retired)
	r.receive(2, "a", 2)
	pairs(t, r.finish().Propagation, result.Propagation{Expected: 3, Deliveries: 1, Interrupted: 1, Retired: 1})
}

func TestReconnectedProxyHasPairsOnlyWithLaterMutations(t *testing.T) {
	r := newRig(t, 1, "a")
	r.happen(0, event.Disconnected)
	r.mutate(2, "a")
	r.pass(ms)
	r.happen(0, event.Connected)
	r.receive(0, "a", 2) // the subscription outlives the stream
	r.happen(0, event.Ready)
	r.pass(ms)
	r.mutate(3, "a")
	r.receive(0, "a", 3)
	res := r.finish()
	pairs(t, res.Propagation, result.Propagation{Expected: 1, Deliveries: 1})
	if res.Proxies.Disconnects != 1 || res.Sync.ReadyAgain == nil {
		t.Errorf("proxies = %+v, want a disconnect and a second ready", res.Proxies)
	}
}

func TestAnyStateOfTheMeshIsExplainedAfterReconnect(t *testing.T) {
	r := newRig(t, 1, "a")
	r.mutate(2, "a")
	r.receive(0, "a", 2)
	r.happen(0, event.Disconnected)
	r.happen(0, event.Connected)
	r.receive(0, "a", baseState) // a replica that lags behind
	pairs(t, r.finish().Propagation, result.Propagation{Expected: 1, Deliveries: 1})
}

func TestNewestMatchCountsWhereAStateRecurs(t *testing.T) {
	r := newRig(t, 1, "a")
	r.mutate(2, "a")
	r.mutate(baseState, "a")
	r.receive(0, "a", baseState)
	pairs(t, r.finish().Propagation, result.Propagation{Expected: 2, Deliveries: 2, Coalesced: 1})
}

func TestStateReceivedBeforeAMutationWasIssuedIsNotItsEffect(t *testing.T) {
	r := newRig(t, 1, "a")
	before := r.now
	r.pass(10 * ms)
	r.mutate(2, "a")
	r.mutate(baseState, "a")
	r.now = before // stamped before, handed over after
	r.receive(0, "a", baseState)
	res := r.Finish(collect.Final{})
	pairs(t, res.Propagation, result.Propagation{Expected: 2, Deliveries: 2, Unobserved: 2})
}

func TestRecurrenceWithoutAResponseSettles(t *testing.T) {
	r := newRig(t, 2, "a")
	r.mutate(2, "a")
	r.receive(1, "a", 2)
	r.mutate(baseState, "a")
	r.receive(1, "a", baseState)
	time.Sleep(2 * ms) // the mutations become older than SettleAfter on the real clock
	if got := r.Pending(); got != 0 {
		t.Errorf("pending = %d, want 0: proxy 0 has shown the newest state all along", got)
	}
	res := r.finish()
	pairs(t, res.Propagation, result.Propagation{Expected: 4, Deliveries: 4, Unobserved: 2})
	if res.Propagation.All.Count != 2 {
		t.Errorf("latencies = %d, want 2: nothing was sent to proxy 0", res.Propagation.All.Count)
	}
}

func TestUnexplainedAndRegressedStatesAreCountedWithExamples(t *testing.T) {
	r := newRig(t, 1, "a")
	r.mutate(2, "a")
	r.receive(0, "a", 2)
	r.receive(0, "a", 99)
	r.receive(0, "a", baseState)
	r.receive(0, "a", 2)
	p := r.finish().Propagation
	pairs(t, p, result.Propagation{Expected: 1, Deliveries: 1, UnknownStates: 2, Regressed: 1})
	if len(p.Examples) != 2 {
		t.Fatalf("examples = %+v, want two", p.Examples)
	}
	if e := p.Examples[0]; e.Received != "0000000000000063" || e.Held != "0000000000000002" || e.Cluster != "a" || e.Regressed {
		t.Errorf("example = %+v", e)
	}
	if !p.Examples[1].Regressed {
		t.Errorf("example = %+v, want it regressed", p.Examples[1])
	}
}

func TestRepeatedStateIsNoAnomaly(t *testing.T) {
	r := newRig(t, 1, "a")
	r.receive(0, "a", baseState)
	r.receive(0, "foreign", 77)
	pairs(t, r.finish().Propagation, result.Propagation{})
}

func TestFailedWriteIsWithdrawnUnlessSeen(t *testing.T) {
	r := newRig(t, 2, "a")
	lost := r.issue(2, "a")
	r.answer(lost, errors.New("refused"))
	arrived := r.issue(3, "a")
	r.receive(0, "a", 3)
	r.answer(arrived, errors.New("timeout"))
	res := r.finish()
	pairs(t, res.Propagation, result.Propagation{Expected: 2, Deliveries: 1, Undelivered: 1})
	if got := res.Mutations; got.Failed != 1 || got.FailedButSeen != 1 || got.Applied != 1 {
		t.Errorf("mutations = %+v, want one failed and one seen", got)
	}
}

func TestReceiptBeforeAckIsCountedNotClamped(t *testing.T) {
	r := newRig(t, 2, "a")
	m := r.issue(2, "a")
	r.pass(ms)
	r.receive(0, "a", 2)
	acked := r.now.Add(ms)
	r.pass(5 * ms)
	r.receive(1, "a", 2) // after the acknowledgement, but before End is called
	m.Acked = acked
	r.End(m)
	p := r.finish().Propagation
	pairs(t, p, result.Propagation{Expected: 2, Deliveries: 2, ReceivedBeforeAck: 1})
	if p.FromAck.Count != 1 || !near(duration(p.FromAck.Max), 4*ms) {
		t.Errorf("fromAck = %+v, want one sample of 4 ms", p.FromAck)
	}
}

func TestWorkBeforeTheSteadyPhaseIsApart(t *testing.T) {
	r := newSyncing(t, false, 1, "a")
	r.connect(0, "a")
	r.receive(0, "a", 5)
	m := r.issue(2, "a")
	r.answer(m, nil)
	r.receive(0, "a", 2)
	r.begin()
	r.pass(ms)
	r.mutate(3, "a")
	r.receive(0, "a", 3)
	res := r.finish()
	pairs(t, res.Propagation, result.Propagation{Expected: 1, Deliveries: 1})
	if res.Mutations.WarmUp != 1 || res.Mutations.Applied != 1 || res.Sync.UnknownStates != 1 {
		t.Errorf("mutations = %+v, sync = %+v: want the warm-up apart", res.Mutations, res.Sync)
	}
	if got, early := res.Volume.ByType["eds"].Responses, res.Sync.Volume.ByType["eds"].Responses; got != 1 || early != 3 {
		t.Errorf("eds responses = %d steady, %d before; want 1 and 3", got, early)
	}
}

func TestAnswersAreCounted(t *testing.T) {
	r := newRig(t, 1, "a")
	r.pass(ms)
	nack := event.Response{Proxy: 0, Type: xds.CDS, Received: r.now, Answered: r.now, Nacked: true}
	for range 3 {
		r.Response(&nack)
	}
	nack.Injected = true
	r.Response(&nack)
	a := r.finish().Acks
	if a.Sent != 1 || a.NacksInvalid != 3 || a.NacksInjected != 1 || a.NacksByType["cds"] != 4 || a.NackLoopRate <= 0 {
		t.Errorf("acks = %+v, want 1 sent, 3 invalid, 1 injected, and a loop", a)
	}
}

func TestMissingStampIsACaveat(t *testing.T) {
	r := newRig(t, 1, "a")
	r.Response(&event.Response{Proxy: 0, Received: r.now})
	r.Response(&event.Response{Proxy: 9, Received: r.now})
	warnings := strings.Join(r.finish().Warnings, "\n")
	for _, want := range []string{"responses without a usable time of arrival (left out of stampLag): 1", "not in the fleet: 1"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("warnings = %q, want %q in them", warnings, want)
		}
	}
}

func TestNothingCountsAfterFinish(t *testing.T) {
	r := newRig(t, 1, "a")
	m := r.issue(2, "a")
	first := r.finish()
	r.answer(m, nil)
	r.mutate(3, "a")
	r.receive(0, "a", 3)
	r.happen(0, event.Retired)
	if again := r.finish(); again != first || again.Propagation.Undelivered != 1 || again.Mutations.Unanswered != 1 {
		t.Errorf("after finish: %+v, %+v", again.Propagation, again.Mutations)
	}
}

func TestProgressFollowsTheRun(t *testing.T) {
	r := newRig(t, 2, "a")
	r.mutate(2, "a")
	r.receive(0, "a", 2)
	want := collect.Progress{Issued: 1, Deliveries: 1, Pending: 1, Connected: 2, Ready: 2, Responses: 3}
	if got := r.Progress(); got != want {
		t.Errorf("progress = %+v, want %+v", got, want)
	}
	r.receive(1, "a", 2)
	r.happen(1, event.Disconnected)
	want = collect.Progress{Issued: 1, Complete: 1, Deliveries: 2, Connected: 1, Ready: 1, Responses: 4}
	if got := r.Progress(); got != want {
		t.Errorf("progress = %+v, want %+v", got, want)
	}
}

func TestConfigErrorsAreAllListed(t *testing.T) {
	_, err := collect.New(collect.Config{Variants: make([]xds.Variant, 2), Names: []string{"x"}, LateAfter: -1})
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("error = %v, want four lines", err)
	}
}

func TestStateThatRecursIsNoStepBackward(t *testing.T) {
	r := newRig(t, 1, "a")
	r.mutate(7, "a")
	r.mutate(1, "a")
	r.mutate(7, "a")
	r.receive(0, "a", 7) // of the first mutation, but taken for the third
	r.receive(0, "a", 1) // shows that it was the first
	r.receive(0, "a", 7)
	p := r.finish().Propagation
	if p.UnknownStates != 0 || p.Recurred != 1 || p.Undelivered != 0 || p.Deliveries != 3 {
		t.Errorf("propagation: %+v", p)
	}
}
