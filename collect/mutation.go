package collect

import (
	"iter"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/event"
)

// mutation is what is kept of one mutation.
type mutation struct {
	// Immutable after Begin.
	seq, op                     uint64
	kind, step, service, object string
	scheduled, issued           event.Time
	late, steady                bool
	targets                     []target
	// before is the newest mutation when this one was begun. Immutable once c.newest.
	before  *mutation
	effects attributed

	// live is nil when no pair is pending and the mutation has ended.
	live atomic.Pointer[live]
	// holds counts the pending pairs, one for Begin and one for End. Whoever
	// takes it to zero finalises the mutation.
	holds atomic.Int64

	// Guarded by live's mutex until live is nil, immutable afterwards.
	acked        event.Time
	ended        bool // End was called, or the run is over
	answered     bool // End was called
	failed, seen bool // the write failed; a proxy has its state all the same
	sums         deliverySums
	sampled      bool
	firstAt      event.Time
	lastAt       event.Time
	lastArrived  event.Time
	lastBy       [numVariants]event.Time
	median, p99  int64
}

// target is one cluster that a mutation changes, and the index in the cluster's
// history of the state that it gives it.
type target struct {
	resource *resource
	index    int32
}

// live is the part of a mutation that is needed while pairs are pending.
type live struct {
	parts []part // per shard, each guarded by its shard's mutex

	mu        sync.Mutex
	latencies *hdrhistogram.PackedHistogram
	byVariant [numVariants]*hdrhistogram.PackedHistogram // in fleets of both variants
	early     []event.Time                               // receipts before End has told when it was acked
}

// part is the pending pairs within one shard; the set starts at the shard's
// first proxy and is nil where there were never any.
type part struct {
	pending bitset
	count   int
}

// pendingIn yields the proxies of a locked shard whose pair is pending. The
// pair yielded may be ended in the loop.
func (l *live) pendingIn(s *shard) iter.Seq[int] {
	return func(yield func(int) bool) {
		if l == nil {
			return
		}
		for i, word := range l.parts[s.index].pending {
			for ; word != 0; word &= word - 1 {
				if !yield(s.first + i*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// pending reports whether the pair with proxy p of locked shard s is pending.
func (l *live) pending(s *shard, p int) bool {
	part := &l.parts[s.index]
	return part.count > 0 && part.pending.has(p-s.first)
}

// reached reports whether every cluster of the mutation that proxy p owes
// shows the mutation's state or a later one, and whether any shows a later one. A
// proxy that owes none of them has nothing to reach.
func (m *mutation) reached(p int) (all, later bool) {
	all = true
	owed := false
	for _, t := range m.targets {
		if !owes(t.resource, p) {
			continue
		}
		owed = true
		at := t.resource.position(p)
		all = all && at >= t.index
		later = later || at > t.index
	}
	return all && owed, later
}

// shown reports whether proxy p holds the newest state of every cluster
// of the mutation that it owes.
func (m *mutation) shown(p int) bool {
	for _, t := range m.targets {
		if owes(t.resource, p) && !t.resource.shows(p) {
			return false
		}
	}
	return m.owed(p)
}

// stoodAtMost reports whether the states of the mutation that proxy p owes are the newest,
// or were undone before a time had passed.
func (m *mutation) stoodAtMost(p int, d time.Duration) bool {
	for _, t := range m.targets {
		history := *t.resource.history.Load()
		if !owes(t.resource, p) || history[t.index].state == history[len(history)-1].state {
			continue
		}
		if history[t.index+1].issued.Sub(m.issued) > d {
			return false
		}
	}
	return true
}

// owed reports whether proxy p owes any cluster of the mutation.
func (m *mutation) owed(p int) bool {
	return slices.ContainsFunc(m.targets, func(t target) bool { return owes(t.resource, p) })
}

// ending says how a pair ended.
type ending int

const (
	delivered ending = iota
	unobserved
	undelivered
	interrupted
	retired
	pendingAtEnd // of an interrupted run
)

// count adds one pair that ended in e.
func (d *deliverySums) count(e ending) {
	switch e {
	case delivered:
		d.delivered++
	case unobserved:
		d.delivered++
		d.unobserved++
	case undelivered:
		d.undelivered++
	case interrupted:
		d.interrupted++
	case retired:
		d.retired++
	case pendingAtEnd:
		d.pending++
	}
}

// endLocked ends the pending pair of m and proxy p of locked shard s. It
// returns m if nothing more is awaited of it, for the caller to finalise once
// the shard is unlocked.
func (s *shard) endLocked(m *mutation, p int, e ending, at event.Time, coalesced bool) *mutation {
	l := m.live.Load()
	part := &l.parts[s.index]
	part.pending.clear(p - s.first)
	part.count--
	px := s.proxy(p)
	s.sums.count(e)
	switch e {
	case delivered, unobserved:
		px.delivered++
	case undelivered:
		px.undelivered++
	case interrupted:
		px.interrupted++
	case retired, pendingAtEnd:
	}
	if len(s.byReplica) > 0 {
		s.byReplica[px.replica].sums.count(e)
	}
	l.mu.Lock()
	m.sums.count(e)
	if coalesced {
		s.sums.coalesced++
		m.sums.coalesced++
	}
	if e == delivered {
		s.sampleLocked(m, l, px, at)
	}
	l.mu.Unlock()
	if m.holds.Add(-1) == 0 {
		return m
	}
	return nil
}

// sampleLocked records the latencies of a delivery; s and l are locked.
func (s *shard) sampleLocked(m *mutation, l *live, px *proxy, at event.Time) {
	latency := int64(at.Sub(m.scheduled))
	if s.all.RecordValue(latency) != nil {
		s.sums.unrecordable++
		return
	}
	if px.latencies == nil {
		px.latencies = hdrhistogram.NewPacked(timeUnit, maxTime, proxyDigits)
	}
	// These have the range of s.all, which has taken the value.
	_ = px.latencies.RecordValue(latency)
	px.longest = max(px.longest, latency)
	_ = l.latencies.RecordValue(latency)
	if h := l.byVariant[px.variant]; h != nil {
		_ = h.RecordValue(latency)
	}
	if len(s.kinds) > 1 {
		_ = s.kinds[px.kind].latencies.RecordValue(latency)
	}
	m.lastBy[px.variant] = max(m.lastBy[px.variant], at)
	_ = s.recent.RecordValue(latency)
	if len(s.byReplica) > 0 {
		_ = s.byReplica[px.replica].latencies.RecordValue(latency)
	}
	arrived := at // where no time of arrival is known
	if px.arrived != 0 {
		arrived = max(min(px.arrived, at), m.scheduled)
	}
	_ = s.arrived.RecordValue(int64(arrived.Sub(m.scheduled)))
	if !m.sampled || at < m.firstAt {
		m.firstAt = at
	}
	if !m.sampled || at > m.lastAt {
		m.lastAt = at
	}
	m.lastArrived = max(m.lastArrived, arrived)
	m.sampled = true
	switch {
	case !m.ended:
		l.early = append(l.early, at)
	case m.acked != 0:
		sampleFromAck(s.fromAck, &s.sums, at, m.acked)
	}
}

// sampleFromAck records a latency from the API server's answer.
func sampleFromAck(h *samples, sums *deliverySums, at, acked event.Time) {
	latency := int64(at.Sub(acked))
	if latency < 0 {
		sums.beforeAck++
		return
	}
	_ = h.RecordValue(latency) // shorter than the latency from scheduled, which fitted
}
