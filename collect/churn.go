package collect

import (
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/internal/quantile"
)

// Begin takes note of a mutation that is about to be written: Issued and States
// must be set. Mutations of one service must be serial.
func (c *Collector) Begin(em *event.Mutation) {
	m := &mutation{
		seq: em.Seq, op: em.Op, kind: em.Kind, step: em.Step,
		service: em.Service, object: em.Object,
		scheduled: em.Scheduled, issued: em.Issued,
		late: em.Issued.Sub(em.Scheduled) > c.cfg.LateAfter,
	}
	for _, state := range em.States {
		x := c.known.changed(state.Type, state.Name, c.audiences.of(state.Audience))
		m.targets = append(m.targets, target{resource: x, index: x.next()})
	}
	m.holds.Store(2)
	m.live.Store(c.newLive())
	m.steady = c.steady(em.Scheduled)
	if !c.enter(m) {
		return
	}
	if m.steady {
		c.cause(m)
	}
	if m.steady && len(m.targets) > 0 {
		for _, s := range c.shards {
			s.expect(m)
		}
	}
	// The states become known last: a state matched before the pairs exist would
	// leave them pending for ever.
	for i, t := range m.targets {
		t.resource.append(entry{state: em.States[i].State, issued: m.issued, m: m})
	}
	c.release(m)
}

func (c *Collector) newLive() *live {
	l := &live{parts: make([]part, len(c.shards)), latencies: hdrhistogram.NewPacked(timeUnit, maxTime, mutationDigits)}
	if c.mixed {
		for v := range l.byVariant {
			l.byVariant[v] = hdrhistogram.NewPacked(timeUnit, maxTime, mutationDigits)
		}
	}
	return l
}

// enter registers a mutation; false if the run is over.
func (c *Collector) enter(m *mutation) bool {
	c.totals.Lock()
	defer c.totals.Unlock()
	if c.totals.closed {
		return false
	}
	c.totals.open[m.seq] = m
	if !m.steady {
		c.totals.warmUp++
		return true
	}
	c.totals.all = append(c.totals.all, m)
	if c.totals.scheduleLag.RecordValue(int64(m.issued.Sub(m.scheduled))) != nil {
		c.totals.issuedEarly++
	}
	return true
}

// expect makes pairs of m with the shard's proxies that are ready and owe it.
func (s *shard) expect(m *mutation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	pending, count := s.expectedLocked(m)
	if count == 0 {
		return
	}
	m.live.Load().parts[s.index] = part{pending: pending, count: count}
	m.holds.Add(int64(count))
	m.sums.expected += int64(count)
	s.sums.expected += int64(count)
	if len(s.open) == cap(s.open) {
		s.tidyLocked()
	}
	s.open = append(s.open, m)
}

func (s *shard) expectedLocked(m *mutation) (bitset, int) {
	var pending bitset
	count := 0
	for i, ready := range s.ready {
		var owing uint64
		for _, t := range m.targets {
			owing |= s.words(t.resource.subscribed)[i]
			if t.resource.audience != nil {
				owing |= s.words(t.resource.audience)[i]
			}
		}
		word := ready & owing
		if s.lastReady > m.issued {
			word &^= s.readyAfterLocked(i, word, m.issued)
		}
		if word == 0 {
			continue
		}
		if pending == nil {
			pending = make(bitset, len(s.ready))
		}
		pending[i] = word
		count += bits.OnesCount64(word)
	}
	return pending, count
}

// readyAfterLocked returns the proxies of a word that became ready after t.
func (s *shard) readyAfterLocked(i int, word uint64, t event.Time) uint64 {
	var after uint64
	for w := word; w != 0; w &= w - 1 {
		bit := bits.TrailingZeros64(w)
		if s.proxies[i*64+bit].readyAt > t {
			after |= 1 << bit
		}
	}
	return after
}

// End takes note of the API server's answer to a mutation that Begin was called
// for: Acked and Err must be set.
func (c *Collector) End(em *event.Mutation) {
	c.totals.Lock()
	m := c.totals.open[em.Seq]
	delete(c.totals.open, em.Seq)
	if m != nil && m.steady && em.Err == nil {
		_ = c.totals.write.RecordValue(int64(em.Acked.Sub(em.Issued))) // over an hour: no figure to keep
	}
	c.totals.Unlock()
	if m == nil {
		return // begun after the end of the run, or ended before
	}
	if em.Err != nil {
		c.withdraw(m)
	}
	l := m.live.Load()
	l.mu.Lock()
	m.acked, m.answered, m.ended = em.Acked, true, true
	early := l.early
	l.early = nil
	l.mu.Unlock()
	if m.acked != 0 && len(early) > 0 {
		c.totals.Lock()
		for _, at := range early {
			sampleFromAck(c.totals.fromAck, &c.totals.sums, at, m.acked)
		}
		c.totals.Unlock()
	}
	c.release(m)
}

// withdraw takes back the pairs of a failed write that no proxy has seen.
func (c *Collector) withdraw(m *mutation) {
	for _, s := range c.shards {
		s.mu.Lock()
	}
	c.withdrawLocked(m)
	for _, s := range c.shards {
		s.mu.Unlock()
	}
}

func (c *Collector) withdrawLocked(m *mutation) {
	l := m.live.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	m.failed = true
	m.seen = m.sums.delivered > 0
	if m.seen {
		return
	}
	for _, s := range c.shards {
		part := &l.parts[s.index]
		n := int64(part.count)
		part.pending, part.count = nil, 0
		m.sums.expected -= n
		s.sums.expected -= n
		m.holds.Add(-n) // not the last: End holds one
	}
}

// release drops one hold on m and finalises it if it was the last.
func (c *Collector) release(m *mutation) {
	if m.holds.Add(-1) == 0 {
		c.finalise(m)
	}
}

// finalise closes the books of a mutation of which nothing more is awaited. No
// shard may be locked by the caller.
func (c *Collector) finalise(m *mutation) {
	l := m.live.Load()
	l.mu.Lock()
	if m.sampled {
		q := quantile.Of(l.latencies, int64(m.lastAt.Sub(m.scheduled)), 0.5, 0.99)
		m.median, m.p99 = q[0], q[1]
	}
	latencies, byVariant := l.latencies, l.byVariant
	l.mu.Unlock()
	m.live.Store(nil)
	c.totals.Lock()
	defer c.totals.Unlock()
	if m.sampled && m.steady {
		c.totals.blocks.add(m.scheduled.Sub(event.Time(c.steadyAt.Load())), latencies)
		if !c.mixed {
			byVariant[c.cfg.Variants[0]] = latencies
		}
		c.totals.addLatenciesLocked(m, byVariant)
	}
	if m.steady {
		c.totals.finalised++
	}
	if !m.sampled || m.sums.undelivered > 0 || m.sums.pending > 0 {
		return
	}
	// Within the range of s.all, which has taken both: see sampleLocked.
	_ = c.totals.first.RecordValue(int64(m.firstAt.Sub(m.scheduled)))
	_ = c.totals.last.RecordValue(int64(m.lastAt.Sub(m.scheduled)))
	_ = c.totals.lastArrived.RecordValue(int64(m.lastArrived.Sub(m.scheduled)))
	_ = c.totals.spread.RecordValue(int64(m.lastAt.Sub(m.firstAt)))
}
