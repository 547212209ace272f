package collect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/internal/quantile"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/rows"
)

// builder makes the result of a closed Collector, of which nothing changes any
// more.
type builder struct {
	c      *Collector
	result *result.Result
}

func (b *builder) build(f Final) {
	r := b.result
	r.Proxies = b.proxies()
	r.Sync = b.sync()
	r.Mutations = b.mutations(f.Scheduled)
	r.Propagation = b.propagation()
	r.Volume = b.volume(steadyPhase)
	r.Acks = b.acks()
	if f.Held != nil && f.Truth != nil && !f.Interrupted {
		r.Convergence = b.c.converge(f)
		for _, s := range b.c.shards {
			r.Convergence.OrderingViolations += s.outOfOrder
		}
	}
	var unstamped int64
	for _, s := range b.c.shards {
		unstamped += s.stampsBad
	}
	r.Harness = &result.Harness{
		Unstamped:   unstamped,
		ScheduleLag: b.times(b.c.totals.scheduleLag),
		StampLag:    b.times(b.ofShards(func(s *shard) *samples { return s.stampLag })...),
	}
	r.MutationRows = b.mutationRows()
	r.ProxyRows = b.proxyRows()
	r.Errors = append(r.Errors, contradictions(r.Propagation)...)
	b.warn()
}

// times summarises samples in nanoseconds.
func (b *builder) times(parts ...*samples) *result.Distribution {
	return b.distribution(timesHistogram(), secondsPerNanosecond, parts)
}

// distribution summarises samples together, by means of an empty histogram.
func (b *builder) distribution(all *hdrhistogram.Histogram, scale float64, parts []*samples) *result.Distribution {
	least, largest := parts[0].least, parts[0].largest
	for _, s := range parts {
		if dropped := s.MergeInto(all); dropped > 0 {
			b.result.Errors = append(b.result.Errors, fmt.Sprintf("merging histograms lost %d samples", dropped))
		}
		least, largest = min(least, s.least), max(largest, s.largest)
	}
	d, err := result.Summarize(all, least, largest, scale)
	if err != nil {
		b.result.Errors = append(b.result.Errors, err.Error())
	}
	return d
}

// ofShards returns one histogram of every shard.
func (b *builder) ofShards(of func(*shard) *samples) []*samples {
	all := make([]*samples, len(b.c.shards))
	for i, s := range b.c.shards {
		all[i] = of(s)
	}
	return all
}

func (b *builder) proxies() *result.Proxies {
	p := &result.Proxies{ByVariant: make(map[string]int), ByKind: b.byKind()}
	b.addTurnover(p)
	reasons := make(failures)
	for _, s := range b.c.shards {
		p.Disconnects += s.disconnects
		p.Refused += s.refused
		reasons.merge(s.failures)
		for i := range s.proxies {
			if s.proxies[i].wasConnected {
				p.Connected++
			}
			if s.proxies[i].wasReady {
				p.Ready++
			}
		}
	}
	p.Failures = reasons.orNil()
	return p
}

func (b *builder) sync() *result.Sync {
	y := &result.Sync{
		TimeToReady:         b.times(b.ofShards(func(s *shard) *samples { return s.timeToReady })...),
		Joined:              b.times(b.ofShards(func(s *shard) *samples { return s.joined })...),
		ReadyAgain:          b.times(b.ofShards(func(s *shard) *samples { return s.again })...),
		ConfigBytesPerProxy: b.distribution(hdrhistogram.New(1, maxBytes, fleetDigits), 1, b.ofShards(func(s *shard) *samples { return s.configBytes })),
		ConfigBytesByType:   make(map[string]int64),
		Volume:              b.volume(syncPhase),
		TimeToComplete:      b.times(b.ofShards(func(s *shard) *samples { return s.timeToComplete })...),
		IncompleteAtSteady:  b.c.totals.incomplete,
		ClustersLacking:     b.c.totals.lacking,
	}
	for _, s := range b.c.shards {
		y.UnknownStates += s.unknown[syncPhase]
		for t, n := range s.configByType {
			if n > 0 {
				y.ConfigBytesByType[xds.Type(t).String()] += n
			}
		}
	}
	return y
}

func (b *builder) mutations(scheduled int) *result.Mutations {
	r := &result.Mutations{Scheduled: scheduled, WarmUp: b.c.totals.warmUp, ByKind: make(map[string]int), Effects: b.effects()}
	r.WriteTime = b.times(b.c.totals.write)
	for _, m := range b.c.totals.all {
		if m.late {
			r.Late++
		}
		if m.failed && !m.seen {
			r.Failed++
			continue
		}
		r.Applied++
		r.ByKind[m.kind]++
		if m.failed {
			r.FailedButSeen++
		}
		if !m.answered {
			r.Unanswered++
		}
		switch {
		case len(m.targets) == 0:
			r.Noop++
		case m.sums.undelivered > 0:
			r.Incomplete++
		case m.sums.pending > 0:
			r.Pending++
		default:
			r.Complete++
		}
	}
	return r
}

func (b *builder) propagation() *result.Propagation {
	sums := b.c.totals.sums
	p := &result.Propagation{}
	for _, s := range b.c.shards {
		sums.add(&s.sums)
		p.UnknownStates += s.unknown[steadyPhase]
		p.Regressed += s.regressed
		p.Recurred += s.recurred
		room := maxExamples - len(p.Examples)
		p.Examples = append(p.Examples, s.examples[:min(room, len(s.examples))]...)
	}
	p.All = b.times(b.ofShards(func(s *shard) *samples { return s.all })...)
	if p.All != nil {
		p.Noise = b.c.totals.blocks.noise(p.All.Max)
	}
	p.FromAck = b.times(append(b.ofShards(func(s *shard) *samples { return s.fromAck }), b.c.totals.fromAck)...)
	p.FirstProxy = b.times(b.c.totals.first)
	p.LastProxy = b.times(b.c.totals.last)
	p.Arrived = b.times(b.ofShards(func(s *shard) *samples { return s.arrived })...)
	p.LastArrived = b.times(b.c.totals.lastArrived)
	p.Spread = b.times(b.c.totals.spread)
	b.addPushes(p)
	p.Expected, p.Deliveries, p.Coalesced = sums.expected, sums.delivered, sums.coalesced
	p.Undelivered, p.Interrupted, p.Retired, p.Pending = sums.undelivered, sums.interrupted, sums.retired, sums.pending
	p.Unobserved, p.Unrecordable, p.ReceivedBeforeAck = sums.unobserved, sums.unrecordable, sums.beforeAck
	return p
}

func (b *builder) volume(in phase) *result.Volume {
	v := &result.Volume{ByType: make(map[string]result.Traffic), ByVariant: make(map[string]result.VariantTraffic)}
	for _, s := range b.c.shards {
		v.DuplicateResources += s.duplicates[in]
		for typ, n := range s.resent[in] {
			if n > 0 {
				if v.Resent == nil {
					v.Resent = make(map[string]int64)
				}
				v.Resent[xds.Type(typ).String()] += n
			}
		}
		for k := range s.kinds {
			for variant := range s.kinds[k].traffic[in] {
				for typ, t := range s.kinds[k].traffic[in][variant] {
					addTraffic(v, xds.Variant(variant).String(), xds.Type(typ).String(), t)
				}
			}
		}
	}
	return v
}

// addTraffic counts traffic of a variant and a type.
func addTraffic(v *result.Volume, variant, typ string, t result.Traffic) {
	if t == (result.Traffic{}) {
		return
	}
	v.ByType[typ] = v.ByType[typ].Plus(t)
	of := v.ByVariant[variant]
	if of.ByType == nil {
		of.ByType = make(map[string]result.Traffic)
	}
	of.Traffic = of.Plus(t)
	of.ByType[typ] = of.ByType[typ].Plus(t)
	v.ByVariant[variant] = of
}

func (b *builder) acks() *result.Acks {
	a := &result.Acks{NacksByType: make(map[string]int64)}
	a.AnswerTime = b.distribution(coarseHistogram(), secondsPerNanosecond, b.ofShards(func(s *shard) *samples { return s.answer }))
	var loops int64
	reasons := make(failures)
	for _, s := range b.c.shards {
		reasons.merge(s.nackReasons)
		a.Sent += s.acks
		a.NacksInjected += s.nacksInjected
		a.NacksInvalid += s.nacksInvalid
		loops += s.nackLoops
		for t, n := range s.nacksByType {
			if n > 0 {
				a.NacksByType[xds.Type(t).String()] += n
			}
		}
	}
	a.Reasons = reasons.orNil()
	if at := event.Time(b.c.steadyAt.Load()); at != 0 && loops > 0 {
		a.NackLoopRate = float64(loops) / b.c.cfg.Clock.Now().Sub(at).Seconds()
	}
	return a
}

// warn adds the caveats that the numbers themselves show.
func (b *builder) warn() {
	r := b.result
	for _, w := range []struct {
		n    int64
		text string
	}{
		{b.c.ignored.Load(), "events ignored because their proxy is not in the fleet"},
		{r.Harness.Unstamped, "responses without a usable time of arrival (left out of stampLag)"},
		{int64(b.c.totals.issuedEarly), "mutations issued before their scheduled time (left out of scheduleLag)"},
		{r.Propagation.Unrecordable, "deliveries that took under 0 s or over 1 h (in no histogram)"},
		{int64(r.Mutations.FailedButSeen), "writes that failed at the client although proxies received their state (counted as applied)"},
		{r.Propagation.Recurred, "received states that show that an earlier one, which recurred in the mesh, was attributed to a mutation too early: that many deliveries at least are reported too fast"},
		{int64(r.Mutations.Unanswered), "writes without an answer when the run ended"},
	} {
		if w.n > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %d", w.text, w.n))
		}
	}
}

func (b *builder) mutationRows() []rows.Mutation {
	all := make([]rows.Mutation, 0, len(b.c.totals.all))
	start := event.Time(b.c.steadyAt.Load())
	for _, m := range b.c.totals.all {
		row := rows.Mutation{
			Seq: m.seq, Op: m.op, Kind: m.kind, Step: m.step, Service: m.service, Object: m.object,
			Scheduled: m.scheduled.Sub(start).Seconds(), Issued: m.issued.Sub(start).Seconds(),
			Late: m.late, Noop: len(m.targets) == 0, Failed: m.failed && !m.seen,
			Expected: m.sums.expected, Delivered: m.sums.delivered, Coalesced: m.sums.coalesced,
			Undelivered: m.sums.undelivered, Interrupted: m.sums.interrupted, Retired: m.sums.retired,
			Sampled: m.sampled, ProxiesReached: m.effects.proxiesReached(xds.SotW, xds.Delta),
		}
		for _, x := range m.effects.sent {
			row.Effect.Add(x.typ.String(), x.Sent, x.changed, x.duplicates)
		}
		if m.acked != 0 {
			row.Acked = m.acked.Sub(start).Seconds()
		}
		if m.sampled {
			row.First, row.Last = m.firstAt.Sub(m.scheduled).Seconds(), m.lastAt.Sub(m.scheduled).Seconds()
			row.Median, row.P99 = float64(m.median)*secondsPerNanosecond, float64(m.p99)*secondsPerNanosecond
		}
		all = append(all, row)
	}
	slices.SortFunc(all, func(x, y rows.Mutation) int { return cmp.Compare(x.Seq, y.Seq) })
	return all
}

func (b *builder) proxyRows() []rows.Proxy {
	all := make([]rows.Proxy, 0, b.c.cfg.Proxies)
	for p := range b.c.cfg.Proxies {
		px := b.c.shards[p/b.c.shardSize].proxy(p)
		row := rows.Proxy{
			Proxy: p, Variant: b.c.cfg.Variants[p].String(), Kind: b.c.kinds[px.kind],
			Ready: px.wasReady, TimeToReady: px.timeToReady.Seconds(), ConfigBytes: px.configBytes,
			Disconnects: px.disconnects, Refused: px.refused,
			Responses: px.responses, Bytes: px.bytes, Nacks: px.nacks,
			Deliveries: px.delivered, Undelivered: px.undelivered, Interrupted: px.interrupted, Diverged: px.diverged,
		}
		if len(b.c.cfg.Names) > 0 {
			row.Name = b.c.cfg.Names[p]
		}
		if px.latencies != nil {
			q := quantile.Of(px.latencies, px.longest, 0.5, 0.99)
			row.P50, row.P99 = float64(q[0])*secondsPerNanosecond, float64(q[1])*secondsPerNanosecond
			row.Max = float64(px.longest) * secondsPerNanosecond
		}
		all = append(all, row)
	}
	return all
}
