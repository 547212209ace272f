package collect

import (
	"slices"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/internal/quantile"
	"github.com/xdsbench/xdsbench/result/effect"
)

// cause makes m the newest mutation, unless a newer one is that already.
func (c *Collector) cause(m *mutation) {
	for {
		m.before = c.newest.Load()
		if m.before != nil && m.before.issued > m.issued {
			return
		}
		if c.newest.CompareAndSwap(m.before, m) {
			return
		}
	}
}

// causeOf returns the newest mutation of steady load issued by the time at which a
// response was received; nil if there is none.
func (c *Collector) causeOf(received event.Time) *mutation {
	m := c.newest.Load()
	for m != nil && m.issued > received {
		m = m.before
	}
	return m
}

// sent is the traffic of one variant and type.
type sent struct {
	variant xds.Variant
	typ     xds.Type
	effect.Sent

	changed, duplicates int64
}

// effects are what was sent because of a mutation: a few types, so a list.
type effects struct {
	sent    []sent
	reached [numVariants]int // distinct proxies
}

func (e *effects) add(o sent) {
	for i := range e.sent {
		if x := &e.sent[i]; x.variant == o.variant && x.typ == o.typ {
			x.Sent = x.Plus(o.Sent)
			x.changed += o.changed
			x.duplicates += o.duplicates
			return
		}
	}
	e.sent = append(e.sent, o)
}

// full reports whether the mutation caused a full push at a variant.
func (e *effects) full(variants ...xds.Variant) bool {
	return slices.ContainsFunc(e.sent, func(x sent) bool {
		return slices.Contains(variants, x.variant) && effect.Full(x.typ.String())
	})
}

// any reports whether the mutation caused anything at a variant.
func (e *effects) any(variants ...xds.Variant) bool {
	return slices.ContainsFunc(e.sent, func(x sent) bool { return slices.Contains(variants, x.variant) })
}

// proxiesReached counts those of some variants.
func (e *effects) proxiesReached(variants ...xds.Variant) int {
	n := 0
	for _, v := range variants {
		n += e.reached[v]
	}
	return n
}

// attributed are the effects of a mutation at all shards.
type attributed struct {
	sync.Mutex
	effects
}

// attributeLocked counts a response for the mutation that caused it. The shard gathers
// what belongs to one mutation and hands it over when the next one's begins.
func (s *shard) attributeLocked(r *event.Response, m *mutation) {
	if m == nil {
		return
	}
	if s.cause != m {
		s.handOverLocked()
		s.cause = m
	}
	px := s.proxy(r.Proxy)
	v := min(r.Variant, xds.Delta)
	if px.cause != m {
		px.cause = m
		s.caused.reached[v]++
	}
	s.caused.add(sent{
		variant: v, typ: min(r.Type, xds.OtherType),
		Sent:    effect.Sent{Responses: 1, Resources: int64(r.Resources), Removed: int64(r.Removed), Bytes: int64(r.Bytes)},
		changed: int64(r.ChangedBytes), duplicates: int64(r.Duplicates),
	})
}

// handOverLocked gives what the shard has gathered to its mutation.
func (s *shard) handOverLocked() {
	if s.cause == nil {
		return
	}
	to := &s.cause.effects
	to.Lock()
	defer to.Unlock()
	for _, x := range s.caused.sent {
		to.add(x)
	}
	for v, n := range s.caused.reached {
		to.reached[v] += n
	}
	s.caused.sent, s.caused.reached = s.caused.sent[:0], [numVariants]int{}
}

// ofKind are the latencies of the mutations of one kind, per variant.
type ofKind [numVariants]struct{ all, last *samples }

// addLatenciesLocked adds those of a mutation to its kind's; totals are locked.
func (t *totals) addLatenciesLocked(m *mutation, latencies [numVariants]*hdrhistogram.PackedHistogram) {
	k := t.kinds[m.kind]
	if k == nil {
		k = new(ofKind)
		t.kinds[m.kind] = k
	}
	for v, h := range latencies {
		if h == nil || h.TotalCount() == 0 {
			continue
		}
		x := &k[v]
		if x.all == nil {
			x.all, x.last = newCoarse(), newCoarse()
		}
		last := int64(m.lastBy[v].Sub(m.scheduled))
		x.all.merge(h, last)
		if m.sums.undelivered == 0 && m.sums.pending == 0 {
			_ = x.last.RecordValue(last) // within the range: see sampleLocked
		}
	}
}

// effects describes what each kind of mutation caused.
func (b *builder) effects() map[string]*effect.Kind {
	all := make(map[string]*effect.Kind)
	operations := make(map[string]map[uint64]bool)
	var variants []xds.Variant
	for _, v := range []xds.Variant{xds.SotW, xds.Delta} {
		if slices.Contains(b.c.cfg.Variants, v) {
			variants = append(variants, v)
		}
	}
	pushes := make(map[*effect.Effect][2]int) // full ones, and all
	for _, m := range b.c.totals.all {
		if m.failed && !m.seen {
			continue
		}
		k := all[m.kind]
		if k == nil {
			k = &effect.Kind{ByVariant: make(map[string]*effect.Effect)}
			for _, v := range variants {
				k.ByVariant[v.String()] = &effect.Effect{}
			}
			all[m.kind], operations[m.kind] = k, make(map[uint64]bool)
		}
		k.Applied++
		if len(m.targets) == 0 {
			k.Noop++
		}
		operations[m.kind][m.op] = true
		addEffects(pushes, &k.Effect, &m.effects.effects, variants...)
		for _, v := range variants {
			addEffects(pushes, k.ByVariant[v.String()], &m.effects.effects, v)
		}
	}
	for e, n := range pushes {
		e.FullShare = float64(n[0]) / float64(n[1])
	}
	for kind, k := range all {
		k.Operations = len(operations[kind])
		b.addLatencies(k, b.c.totals.kinds[kind], variants)
	}
	return all
}

// addEffects adds what a mutation caused at some variants.
func addEffects(pushes map[*effect.Effect][2]int, to *effect.Effect, of *effects, variants ...xds.Variant) {
	if !of.any(variants...) {
		return
	}
	n := pushes[to]
	n[1]++
	if of.full(variants...) {
		n[0]++
	}
	pushes[to] = n
	to.ProxiesReached = max(to.ProxiesReached, of.proxiesReached(variants...))
	for _, x := range of.sent {
		if slices.Contains(variants, x.variant) {
			to.Add(x.typ.String(), x.Sent, x.changed, x.duplicates)
		}
	}
}

// addLatencies adds the medians of a kind's latencies; of is nil without any.
func (b *builder) addLatencies(k *effect.Kind, of *ofKind, variants []xds.Variant) {
	if of == nil {
		return
	}
	var all, last []*samples
	for _, v := range variants {
		if of[v].all == nil {
			continue
		}
		all, last = append(all, of[v].all), append(last, of[v].last)
		e := k.ByVariant[v.String()]
		e.P50, e.Last = median(of[v].all), median(of[v].last)
	}
	k.P50, k.Last = median(all...), median(last...)
}

// median returns that of samples of the range and digits of coarse ones, in seconds;
// nil without any.
func median(parts ...*samples) *float64 {
	q := quantiles(parts, 0.5)
	if q == nil {
		return nil
	}
	return &q[0]
}

// quantiles returns those of samples together, in seconds within 1 %; nil without any.
func quantiles(parts []*samples, shares ...float64) []float64 {
	merged, largest := coarseHistogram(), int64(0)
	for _, s := range parts {
		s.MergeInto(merged) // the same range: nothing is dropped
		largest = max(largest, s.largest)
	}
	if merged.TotalCount() == 0 {
		return nil
	}
	q := make([]float64, len(shares))
	for i, n := range quantile.Of(merged, largest, shares...) {
		q[i] = float64(n) * secondsPerNanosecond
	}
	return q
}
