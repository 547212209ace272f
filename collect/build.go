package collect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
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
		StampLag:    b.merged(func(s *shard) mergeable { return dense{s.stampLag} }, newTimes(), secondsPerNanosecond),
	}
	r.MutationRows = b.mutationRows()
	r.ProxyRows = b.proxyRows()
	r.Errors = append(r.Errors, contradictions(r.Propagation)...)
	b.warn()
}

// times summarises a histogram of nanoseconds.
func (b *builder) times(h *hdrhistogram.Histogram) *result.Distribution {
	return b.distribution(h, secondsPerNanosecond)
}

func (b *builder) distribution(h *hdrhistogram.Histogram, scale float64) *result.Distribution {
	d, err := result.Summarize(h, scale)
	if err != nil {
		b.result.Errors = append(b.result.Errors, err.Error())
	}
	return d
}

// mergeable is a histogram that can be summed into a dense one.
type mergeable interface {
	MergeInto(dst *hdrhistogram.Histogram) (dropped int64)
}

// dense makes a dense histogram mergeable.
type dense struct{ *hdrhistogram.Histogram }

func (d dense) MergeInto(dst *hdrhistogram.Histogram) int64 { return dst.Merge(d.Histogram) }

// merged sums one histogram of every shard into an empty one.
func (b *builder) merged(of func(*shard) mergeable, into *hdrhistogram.Histogram, scale float64) *result.Distribution {
	for _, s := range b.c.shards {
		if dropped := of(s).MergeInto(into); dropped > 0 {
			b.result.Errors = append(b.result.Errors, fmt.Sprintf("merging histograms lost %d samples", dropped))
		}
	}
	return b.distribution(into, scale)
}

func (b *builder) proxies() *result.Proxies {
	p := &result.Proxies{Requested: b.c.cfg.Proxies, ByVariant: make(map[string]int)}
	for _, v := range b.c.cfg.Variants {
		p.ByVariant[v.String()]++
	}
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
		TimeToReady:         b.merged(func(s *shard) mergeable { return s.timeToReady }, newTimes(), secondsPerNanosecond),
		ReadyAgain:          b.merged(func(s *shard) mergeable { return s.again }, newTimes(), secondsPerNanosecond),
		ConfigBytesPerProxy: b.merged(func(s *shard) mergeable { return s.configBytes }, hdrhistogram.New(1, maxBytes, fleetDigits), 1),
		ConfigBytesByType:   make(map[string]int64),
		Volume:              b.volume(syncPhase),
		TimeToComplete:      b.merged(func(s *shard) mergeable { return s.timeToComplete }, newTimes(), secondsPerNanosecond),
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
	r := &result.Mutations{Scheduled: scheduled, WarmUp: b.c.totals.warmUp, ByKind: make(map[string]int)}
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
	p.All = b.merged(func(s *shard) mergeable { return dense{s.all} }, newTimes(), secondsPerNanosecond)
	p.Noise = b.c.totals.blocks.noise()
	p.FromAck = b.merged(func(s *shard) mergeable { return dense{s.fromAck} }, b.c.totals.fromAck, secondsPerNanosecond)
	p.FirstProxy = b.times(b.c.totals.first)
	p.LastProxy = b.times(b.c.totals.last)
	p.Arrived = b.merged(func(s *shard) mergeable { return dense{s.arrived} }, newTimes(), secondsPerNanosecond)
	p.LastArrived = b.times(b.c.totals.lastArrived)
	p.Spread = b.times(b.c.totals.spread)
	p.Expected, p.Deliveries, p.Coalesced = sums.expected, sums.delivered, sums.coalesced
	p.Undelivered, p.Interrupted, p.Retired, p.Pending = sums.undelivered, sums.interrupted, sums.retired, sums.pending
	p.Unobserved, p.Unrecordable, p.ReceivedBeforeAck = sums.unobserved, sums.unrecordable, sums.beforeAck
	return p
}

func (b *builder) volume(in phase) *result.Volume {
	v := &result.Volume{ByType: make(map[string]result.Traffic), ByVariant: make(map[string]result.VariantTraffic)}
	for _, s := range b.c.shards {
		v.DuplicateResources += s.duplicates[in]
		for variant := range s.traffic[in] {
			for typ, t := range s.traffic[in][variant] {
				addTraffic(v, xds.Variant(variant).String(), xds.Type(typ).String(), t)
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
	a.AnswerTime = b.merged(func(s *shard) mergeable { return dense{s.answer} }, newCoarse(), secondsPerNanosecond)
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
			Sampled: m.sampled,
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
			Proxy: p, Variant: b.c.cfg.Variants[p].String(),
			Ready: px.wasReady, TimeToReady: px.timeToReady.Seconds(), ConfigBytes: px.configBytes,
			Disconnects: px.disconnects, Refused: px.refused,
			Responses: px.responses, Bytes: px.bytes, Nacks: px.nacks,
			Deliveries: px.delivered, Undelivered: px.undelivered, Interrupted: px.interrupted, Diverged: px.diverged,
		}
		if len(b.c.cfg.Names) > 0 {
			row.Name = b.c.cfg.Names[p]
		}
		if px.latencies != nil {
			q := px.latencies.ValueAtPercentilesSlice([]float64{50, 99})
			row.P50 = float64(min(q[0], px.longest)) * secondsPerNanosecond
			row.P99 = float64(min(q[1], px.longest)) * secondsPerNanosecond
			row.Max = float64(px.longest) * secondsPerNanosecond
		}
		all = append(all, row)
	}
	return all
}
