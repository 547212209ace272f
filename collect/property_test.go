package collect_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/result"
)

// world is a mesh, a control plane that may lose, merge and repeat what it
// sends, and the books a Collector should come to.
type world struct {
	rig
	rt       *rapid.T
	names    []string
	history  map[string][]event.Fingerprint
	at       []map[string]int // per proxy and cluster: what it holds, -1 for nothing
	asks     []map[string]bool
	scoped   bool
	ready    []bool
	gone     []bool
	fresh    event.Fingerprint
	open     []*pair
	expected int
	ended    map[string]int
}

type pair struct {
	seq    uint64
	proxy  int
	states map[string]int
	ended  bool
}

func newWorld(t *testing.T, rt *rapid.T) *world {
	t.Helper()
	proxies := rapid.SampledFrom([]int{1, 5, 130}).Draw(rt, "proxies")
	w := &world{
		rt: rt, names: []string{"a", "b"}[:rapid.IntRange(1, 2).Draw(rt, "clusters")],
		history: make(map[string][]event.Fingerprint), fresh: 100, ended: make(map[string]int),
	}
	w.scoped = rapid.Bool().Draw(rt, "scoped")
	w.rig = *newScopedRig(t, w.scoped, proxies, w.names...)
	for _, name := range w.names {
		w.history[name] = []event.Fingerprint{baseState}
	}
	for range proxies {
		at, asks := make(map[string]int), make(map[string]bool)
		for _, name := range w.names {
			at[name], asks[name] = 0, true
		}
		w.at, w.asks = append(w.at, at), append(w.asks, asks)
	}
	w.ready, w.gone = make([]bool, proxies), make([]bool, proxies)
	for p := range proxies {
		w.ready[p] = true
	}
	return w
}

func (w *world) anyProxy() int   { return rapid.IntRange(0, len(w.at)-1).Draw(w.rt, "proxy") }
func (w *world) anyName() string { return rapid.SampledFrom(w.names).Draw(w.rt, "cluster") }
func (w *world) end(p *pair, how string) {
	p.ended = true
	w.ended[how]++
}

// owes reports whether a proxy has to show the states of a cluster.
func (w *world) owes(p int, name string) bool { return w.asks[p][name] || !w.scoped }

func (w *world) mutateAny(*rapid.T) {
	w.fresh++
	changed := w.names[:rapid.IntRange(1, len(w.names)).Draw(w.rt, "changed")]
	m := w.issue(w.fresh, changed...)
	var made []*pair
	for p := range w.at {
		x := &pair{seq: m.Seq, proxy: p, states: make(map[string]int)}
		owes := false
		for _, name := range changed {
			x.states[name] = len(w.history[name])
			owes = owes || w.owes(p, name)
		}
		if w.ready[p] && owes {
			made = append(made, x)
		}
	}
	for _, name := range changed {
		w.history[name] = append(w.history[name], w.fresh)
	}
	w.pass(ms)
	if rapid.IntRange(0, 9).Draw(w.rt, "fails") == 0 {
		w.answer(m, errors.New("failed"))
		return
	}
	w.answer(m, nil)
	w.expected += len(made)
	w.open = append(w.open, made...)
}

// deliverAny hands a proxy some state from what it holds to the newest.
func (w *world) deliverAny(*rapid.T) {
	p, name := w.anyProxy(), w.anyName()
	if w.gone[p] || !w.asks[p][name] {
		return
	}
	w.pass(ms)
	to := rapid.IntRange(max(w.at[p][name], 0), len(w.history[name])-1).Draw(w.rt, "state")
	w.receive(p, name, w.history[name][to])
	w.at[p][name] = to
	w.settle(p)
}

// settle ends the pairs of a proxy that have arrived.
func (w *world) settle(p int) {
	for _, x := range w.open {
		if x.ended || x.proxy != p {
			continue
		}
		all, later, any := true, false, false
		for name, index := range x.states {
			if !w.owes(p, name) {
				continue
			}
			any = true
			all = all && w.at[p][name] >= index
			later = later || w.at[p][name] > index
		}
		switch {
		case !any:
			w.end(x, "retired")
		case all:
			w.end(x, "delivered")
			if later {
				w.ended["coalesced"]++
			}
		}
	}
}

func (w *world) garble(*rapid.T) {
	if p, name := w.anyProxy(), w.anyName(); !w.gone[p] && w.asks[p][name] {
		w.receive(p, name, 7)
		w.ended["unknownStates"]++
	}
}

func (w *world) leave(p int, kind event.ProxyEventKind, how string) {
	w.happen(p, kind)
	w.ready[p] = false
	for _, name := range w.names {
		w.at[p][name] = -1
	}
	for _, x := range w.open {
		if !x.ended && x.proxy == p {
			w.end(x, how)
		}
	}
}

func (w *world) disconnect(*rapid.T) {
	if p := w.anyProxy(); w.ready[p] {
		w.leave(p, event.Disconnected, "interrupted")
	}
}

func (w *world) retire(*rapid.T) {
	if p := w.anyProxy(); w.ready[p] && rapid.IntRange(0, 4).Draw(w.rt, "rarely") == 0 {
		w.leave(p, event.Retired, "retired")
		w.gone[p] = true
	}
}

func (w *world) reconnect(*rapid.T) {
	if p := w.anyProxy(); !w.ready[p] && !w.gone[p] {
		w.pass(ms)
		w.happen(p, event.Connected)
		w.happen(p, event.Ready)
		w.ready[p] = true
		w.pass(ms)
	}
}

func (w *world) resubscribe(*rapid.T) {
	p, name := w.anyProxy(), w.anyName()
	if w.gone[p] {
		return
	}
	kind := event.Subscribed
	if w.asks[p][name] {
		kind = event.Unsubscribed
		w.at[p][name] = -1
	}
	w.asks[p][name] = !w.asks[p][name]
	w.happen(p, kind, name)
	if kind == event.Unsubscribed {
		w.settle(p)
	}
}

func TestBooksCloseWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rt)
		rt.Repeat(map[string]func(*rapid.T){
			"mutate": w.mutateAny, "deliver": w.deliverAny, "deliver again": w.deliverAny, "garble": w.garble,
			"disconnect": w.disconnect, "reconnect": w.reconnect, "retire": w.retire, "resubscribe": w.resubscribe,
		})
		for _, x := range w.open {
			if !x.ended {
				w.end(x, "undelivered")
			}
		}
		res := w.Finish(collect.Final{})
		if len(res.Errors) > 0 {
			rt.Fatalf("errors: %q", res.Errors)
		}
		p := res.Propagation
		got := fmt.Sprint(p.Expected, p.Deliveries, p.Coalesced, p.Undelivered, p.Interrupted, p.Retired, p.UnknownStates)
		e := w.ended
		want := fmt.Sprint(w.expected, e["delivered"], e["coalesced"], e["undelivered"], e["interrupted"], e["retired"], e["unknownStates"])
		if got != want {
			rt.Fatalf("expected, deliveries, coalesced, undelivered, interrupted, retired, unknown states = %s, want %s", got, want)
		}
		var rows result.Propagation
		for _, row := range res.MutationRows {
			rows.Expected += row.Expected
			rows.Deliveries += row.Delivered
		}
		if rows.Expected != p.Expected || rows.Deliveries != p.Deliveries {
			rt.Fatalf("rows sum to %d expected and %d delivered, the result to %d and %d", rows.Expected, rows.Deliveries, p.Expected, p.Deliveries)
		}
	})
}

// Recurring states have no exact books, but the sums must close all the same.
func TestBooksCloseWhereStatesRecur(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, 3, "a")
		state := rapid.Custom(func(t *rapid.T) event.Fingerprint {
			return event.Fingerprint(rapid.IntRange(1, 3).Draw(t, "state"))
		})
		rt.Repeat(map[string]func(*rapid.T){
			"mutate":  func(rt *rapid.T) { r.mutate(state.Draw(rt, "to"), "a") },
			"receive": func(rt *rapid.T) { r.receive(rapid.IntRange(0, 2).Draw(rt, "p"), "a", state.Draw(rt, "state")) },
			"lose":    func(rt *rapid.T) { r.happen(rapid.IntRange(0, 2).Draw(rt, "p"), event.Disconnected) },
			"ready":   func(rt *rapid.T) { r.happen(rapid.IntRange(0, 2).Draw(rt, "p"), event.Ready) },
		})
		if res := r.Finish(collect.Final{}); len(res.Errors) > 0 {
			rt.Fatalf("errors: %q", res.Errors)
		}
	})
}

// The same latencies give the same histogram, however many shards they are in.
func TestMergedHistogramsEqualOne(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		latencies := make([]time.Duration, 1+rng.IntN(300))
		for i := range latencies {
			latencies[i] = time.Duration(float64(ms) * math.Exp(rng.Float64()*math.Log(float64(time.Hour/ms)-1)))
		}
		many, one := newRig(t, len(latencies), "a"), newRig(t, 1, "a")
		start := many.now
		many.mutate(2, "a")
		for p, latency := range latencies {
			many.now = start.Add(latency)
			many.receive(p, "a", 2)
		}
		for i, latency := range latencies {
			one.now = one.start
			one.mutate(event.Fingerprint(10+i), "a")
			one.now = one.start.Add(latency)
			one.receive(0, "a", event.Fingerprint(10+i))
		}
		if a, b := many.finish().Propagation.All, one.finish().Propagation.All; *a != *b {
			t.Errorf("seed %d, %d latencies: many shards: %+v\none: %+v", seed, len(latencies), a, b)
		}
	}
}
