package collect_test

import (
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result"
)

// newTurnover returns a rig in its steady phase with one proxy there, and two that may
// join.
func newTurnover(t *testing.T) *rig {
	t.Helper()
	clock := event.NewClock()
	c, err := collect.New(collect.Config{
		Proxies: 3, Initial: 1, Variants: make([]xds.Variant, 3), Clock: clock,
		Baseline: expect("a", baseState), SettleAfter: time.Nanosecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, Collector: c, now: clock.Now()}
	r.connect(0, "a")
	r.begin()
	return r
}

func TestProxiesThatHaveNotJoinedOweNothing(t *testing.T) {
	r := newTurnover(t)
	r.mutate(2, "a")
	r.receive(0, "a", 2)
	res := r.finish()
	pairs(t, res.Propagation, result.Propagation{Expected: 1, Deliveries: 1})
	if p := res.Proxies; p.Requested != 1 || p.Ready != 1 || p.Joined != 0 || p.Left != 0 {
		t.Errorf("proxies %+v", *p)
	}
}

func TestJoinerOwesWhatCameAfterItsReadyAndRetiresItsPairs(t *testing.T) {
	r := newTurnover(t)
	r.mutate(2, "a") // not for the joiner
	r.Joins(1, r.now)
	r.pass(70 * ms)
	r.happen(1, event.Connected)
	r.happen(1, event.Subscribed, "a")
	r.receive(1, "a", 2)
	r.happen(1, event.Ready)
	r.receive(0, "a", 2)
	r.mutate(3, "a")
	r.mutate(4, "a")
	r.receive(1, "a", 4)
	r.mutate(5, "a")
	r.happen(1, event.Retired)
	r.receive(0, "a", 5)
	res := r.finish()
	pairs(t, res.Propagation, result.Propagation{Expected: 7, Deliveries: 6, Coalesced: 3, Retired: 1})
	if p := res.Proxies; p.Requested != 2 || p.Ready != 2 || p.Joined != 1 || p.Left != 1 {
		t.Errorf("proxies %+v", *p)
	}
	if j := res.Sync.Joined; j == nil || j.Count != 1 || !near(duration(j.Max), 70*ms) || res.Sync.TimeToReady.Count != 1 {
		t.Errorf("joined %+v, others %+v: want 70 ms, apart", j, res.Sync.TimeToReady)
	}
	seen, per := res.Propagation.PushesPerProxy, res.Propagation.MutationsPerPush
	if seen.Count != 2 || seen.Max != 2 || per.Count != 3 || per.Max != 3 || per.Min != 1 {
		t.Errorf("pushes per proxy %+v, mutations per push %+v: want 1 and 2, of 1, 2 and 3", seen, per)
	}
}
