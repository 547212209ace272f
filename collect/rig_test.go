package collect_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result"
)

// rig drives a Collector with a clock of its own: now is moved by the test.
type rig struct {
	t *testing.T
	*collect.Collector
	start, now event.Time
	seq        uint64
	scoped     bool
}

// baseState is the state of every cluster before the first mutation.
const baseState = event.Fingerprint(1)

// newRig returns a rig in its steady phase, in which all proxies are ready and
// subscribed to the clusters, which are in their baseline.
func newRig(t *testing.T, proxies int, clusters ...string) *rig {
	t.Helper()
	return newScopedRig(t, false, proxies, clusters...)
}

// newScopedRig is newRig with proxies that have to know only what they subscribe to,
// if scoped.
func newScopedRig(t *testing.T, scoped bool, proxies int, clusters ...string) *rig {
	t.Helper()
	r := newSyncing(t, scoped, proxies, clusters...)
	for p := range proxies {
		r.connect(p, clusters...)
	}
	r.begin()
	return r
}

// newSyncing returns a rig in which no proxy has connected yet.
func newSyncing(t *testing.T, scoped bool, proxies int, clusters ...string) *rig {
	t.Helper()
	states := make([]event.Expected, 0, len(clusters))
	for _, name := range clusters {
		states = append(states, expect(name, baseState)...)
		if scoped {
			states[len(states)-1].Audience = nil
		}
	}
	clock := event.NewClock()
	c, err := collect.New(collect.Config{
		Proxies: proxies, Variants: make([]xds.Variant, proxies), Clock: clock,
		Baseline:    states,
		SettleAfter: time.Nanosecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, Collector: c, now: clock.Now(), scoped: scoped}
}

func (r *rig) begin() {
	r.start = r.BeginSteady()
	r.now = r.start
}

func (r *rig) pass(d time.Duration) { r.now = r.now.Add(d) }

func (r *rig) happen(p int, kind event.ProxyEventKind, clusters ...string) {
	r.Proxy(&event.ProxyEvent{Proxy: p, Kind: kind, At: r.now, Since: 50 * time.Millisecond, Clusters: clusters})
}

// connect makes a proxy ready with the clusters in their baseline.
func (r *rig) connect(p int, clusters ...string) {
	r.happen(p, event.Connected)
	r.happen(p, event.Subscribed, clusters...)
	for _, name := range clusters {
		r.receive(p, name, baseState)
	}
	r.happen(p, event.Ready)
}

func (r *rig) receive(p int, cluster string, state event.Fingerprint) {
	r.Response(&event.Response{
		Proxy: p, Type: xds.EDS, Resources: 1, Bytes: 100,
		Socket: r.now - 1000, Received: r.now, Answered: r.now + 1000,
		States: []event.ResourceState{{Type: xds.EDS, Name: cluster, State: state}},
	})
}

// issue begins a mutation that gives the clusters a state.
func (r *rig) issue(state event.Fingerprint, clusters ...string) *event.Mutation {
	r.seq++
	m := &event.Mutation{
		Seq: r.seq, Op: r.seq, Kind: "pod-delete", Step: "terminating", Service: "ns/svc", Object: "ns/slice",
		Scheduled: r.now, Issued: r.now,
	}
	for _, name := range clusters {
		m.States = append(m.States, expect(name, state)...)
		if r.scoped {
			m.States[len(m.States)-1].Audience = nil
		}
	}
	r.Begin(m)
	return m
}

// mutate issues a mutation that is acknowledged within a millisecond.
func (r *rig) mutate(state event.Fingerprint, clusters ...string) *event.Mutation {
	m := r.issue(state, clusters...)
	r.pass(time.Millisecond)
	r.answer(m, nil)
	return m
}

func (r *rig) answer(m *event.Mutation, err error) {
	m.Acked, m.Err = r.now, err
	r.End(m)
}

// finish ends the run and fails the test if the books do not close.
func (r *rig) finish() *result.Result {
	r.t.Helper()
	res := r.Finish(collect.Final{})
	if len(res.Errors) > 0 {
		r.t.Errorf("errors in the result: %q", res.Errors)
	}
	return res
}

func near(got, want time.Duration) bool {
	return (got - want).Abs() <= want/500
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// everyone is the audience of all proxies.
var everyone = new(event.Audience)

// expect is a state of one cluster that all proxies have to know.
func expect(cluster string, state event.Fingerprint) []event.Expected {
	return []event.Expected{{
		ResourceState: event.ResourceState{Type: xds.EDS, Name: cluster, State: state}, Audience: everyone,
	}}
}

func text(f event.Fingerprint) string { return fmt.Sprintf("%016x", uint64(f)) }
