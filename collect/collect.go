package collect

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/internal/rate"
	"github.com/xdsbench/xdsbench/result"
)

// Config says what a Collector collects.
type Config struct {
	// Proxies is the number of proxies; they are numbered from 0.
	Proxies int
	// Initial is how many of them connect at the start; the others are told of by Joins.
	// Zero is all.
	Initial int
	// Variants and Names have an entry per proxy. Names may be empty.
	Variants []xds.Variant
	Names    []string
	// Kinds are the kinds of the proxies, such as "router", one each; empty: not known.
	Kinds []string
	// Member reports whether a proxy belongs to an audience. Nil: each belongs to all.
	Member func(a *event.Audience, proxy int) bool
	// ReplicaOf has, for each address of the control plane, the number of the replica
	// that it belongs to. Empty means one replica.
	ReplicaOf []int
	// Clock is the run's clock.
	Clock event.Clock
	// Baseline is the state of every resource of the mesh before the first mutation.
	Baseline []event.Expected
	// LateAfter is how long after its scheduled time a mutation may be issued
	// before it counts as late; zero means 10 ms.
	LateAfter time.Duration
	// SettleAfter is how long after a mutation was issued a pair whose proxy
	// shows the newest state stops being pending, although it received nothing
	// since; zero means 10 s, the longest that istiod debounces by default.
	SettleAfter time.Duration
}

// Validate reports everything that is wrong with the configuration.
func (cfg *Config) Validate() error {
	var errs []error
	if cfg.Proxies < 1 {
		errs = append(errs, fmt.Errorf("collector: %d proxies: there must be at least 1", cfg.Proxies))
	}
	if len(cfg.Variants) != cfg.Proxies {
		errs = append(errs, fmt.Errorf("collector: %d variants for %d proxies: give each proxy one", len(cfg.Variants), cfg.Proxies))
	}
	if len(cfg.Names) > 0 && len(cfg.Names) != cfg.Proxies {
		errs = append(errs, fmt.Errorf("collector: %d names for %d proxies: give each proxy one, or none", len(cfg.Names), cfg.Proxies))
	}
	if len(cfg.Kinds) > 0 && len(cfg.Kinds) != cfg.Proxies {
		errs = append(errs, fmt.Errorf("collector: %d kinds for %d proxies: give each proxy one, or none", len(cfg.Kinds), cfg.Proxies))
	}
	if cfg.Initial < 0 || cfg.Initial > cfg.Proxies {
		errs = append(errs, fmt.Errorf("collector: %d initial proxies of %d: there must be 0 (all) to as many", cfg.Initial, cfg.Proxies))
	}
	if cfg.LateAfter < 0 || cfg.SettleAfter < 0 {
		errs = append(errs, fmt.Errorf("collector: late after %s, settle after %s: neither may be negative", cfg.LateAfter, cfg.SettleAfter))
	}
	return errors.Join(errs...)
}

const (
	defaultLateAfter   = 10 * time.Millisecond
	defaultSettleAfter = 10 * time.Second
	// maxShards bounds the memory of the shards' histograms, 0.2 MB each.
	maxShards = 32
	// maxExamples is how many examples of an anomaly a result keeps.
	maxExamples = 8
	// settledFor is how long a count of settled pairs is reused.
	settledFor = 500 * time.Millisecond
)

// Collector correlates mutations and responses. Response and Proxy may be
// called concurrently for different proxies, Begin and End for different
// services.
type Collector struct {
	// Immutable.
	cfg       Config
	shardSize int // a multiple of 64
	shards    []*shard
	kinds     []string // of proxies
	mixed     bool     // both variants

	// Safe for concurrent use.
	known     *known
	audiences audiences
	steadyAt  atomic.Int64             // event.Time; 0 before the steady phase
	newest    atomic.Pointer[mutation] // of steady load
	ramp      atomic.Pointer[ramp]
	ignored   atomic.Int64 // events of proxies that do not exist
	totals    totals
	settled   settled

	finishing sync.Mutex
	result    *result.Result // guarded by finishing; set by Finish
}

// mixed is what does not belong to a shard.
type totals struct {
	sync.Mutex
	open        map[uint64]*mutation // begun and not ended, by Seq
	all         []*mutation          // of the steady phase
	closed      bool
	warmUp      int
	finalised   int // of all
	issuedEarly int
	// At the start of steady load: see countIncomplete.
	incomplete  int
	lacking     int64
	scheduleLag *samples
	write       *samples // issued to acked
	first       *samples
	last        *samples
	spread      *samples
	lastArrived *samples
	fromAck     *samples     // receipts that came before End
	sums        deliverySums // the same
	blocks      blocks
	kinds       map[string]*ofKind // latencies
}

// settled is a count of settled pairs and when it was made.
type settled struct {
	sync.Mutex
	count int
	at    event.Time
}

// New returns a Collector for a run that begins in its sync phase.
func New(cfg Config) (*Collector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Initial == 0 {
		cfg.Initial = cfg.Proxies
	}
	if cfg.LateAfter == 0 {
		cfg.LateAfter = defaultLateAfter
	}
	if cfg.SettleAfter == 0 {
		cfg.SettleAfter = defaultSettleAfter
	}
	words := (cfg.Proxies + 63) / 64
	c := &Collector{
		cfg: cfg, shardSize: 64 * ((words + maxShards - 1) / maxShards), known: newKnown(cfg.Proxies),
		audiences: audiences{proxies: cfg.Proxies, member: cfg.Member, sets: make(map[*event.Audience]bitset)},
	}
	var kindOf []int
	c.kinds, kindOf = kindsOf(cfg.Kinds, cfg.Proxies)
	c.mixed = slices.Contains(cfg.Variants, xds.SotW) && slices.Contains(cfg.Variants, xds.Delta)
	for first := 0; first < cfg.Proxies; first += c.shardSize {
		s := newShard(len(c.shards), first, min(first+c.shardSize, cfg.Proxies))
		s.byReplica, s.kinds = newReplicas(cfg.ReplicaOf), newProxyKinds(len(c.kinds))
		for p := range s.proxies {
			s.proxies[p].kind, s.proxies[p].variant = kindOf[first+p], cfg.Variants[first+p]
		}
		c.shards = append(c.shards, s)
	}
	c.addBaseline(cfg.Baseline)
	m := &c.totals
	m.open, m.kinds = make(map[uint64]*mutation), make(map[string]*ofKind)
	m.scheduleLag, m.first, m.last = newTimes(), newTimes(), newTimes()
	m.spread, m.fromAck, m.write, m.lastArrived = newTimes(), newTimes(), newTimes(), newTimes()
	return c, nil
}

// addBaseline makes the baseline known, and to how many of its EDS resources each proxy
// has a right.
func (c *Collector) addBaseline(states []event.Expected) {
	var byName [xds.NumTypes]map[string]*resource
	for t := range byName {
		byName[t] = make(map[string]*resource)
	}
	due := make(map[*event.Audience]int32)
	for _, state := range states {
		x := newResource(state.Type, state.Name, c.cfg.Proxies)
		x.baseline, x.audience = true, c.audiences.of(state.Audience)
		x.append(entry{state: state.State})
		byName[state.Type][state.Name] = x
		if state.Type == xds.EDS && x.audience != nil {
			due[state.Audience]++
		}
	}
	for t := range byName {
		c.known.byName[t].Store(&byName[t])
	}
	for a, n := range due {
		members := c.audiences.of(a)
		for p := range c.cfg.Proxies {
			if members.has(p) {
				c.shardOf(p).proxy(p).due += n
			}
		}
	}
}

// BeginSteady ends the sync phase and the warm-up: from now on mutations have
// pairs, and traffic counts as volume. Mutations scheduled before are warm-up.
// It returns the instant, from which the offsets of mutations.csv count: let
// the schedule start there.
func (c *Collector) BeginSteady() event.Time {
	now := c.cfg.Clock.Now()
	c.steadyAt.Store(int64(now))
	c.countIncomplete()
	return now
}

// ramp is when the proxies were to make their first attempt to connect.
type ramp struct {
	start    event.Time
	interval time.Duration
}

// FleetConnects says when the fleet begins to connect, and at what rate: a
// proxy's time to ready counts from when its first attempt was due, so that
// refused attempts, and the waits between them, are in it. Without this call it
// counts from the attempt that succeeded.
func (c *Collector) FleetConnects(start event.Time, perSecond rate.Rate) {
	c.ramp.Store(&ramp{start: start, interval: perSecond.Interval()})
}

// dueLocked returns when proxy p of locked shard s was to connect; false if that is not
// known.
func (c *Collector) dueLocked(s *shard, p int) (at event.Time, ok bool) {
	if p >= c.cfg.Initial {
		return s.proxy(p).joinedAt, true
	}
	r := c.ramp.Load()
	if r == nil {
		return 0, false
	}
	return r.start.Add(time.Duration(p) * r.interval), true
}

// steady reports whether t is in the steady phase or the drain.
func (c *Collector) steady(t event.Time) bool {
	at := c.steadyAt.Load()
	return at != 0 && int64(t) >= at
}

// shardOf returns the shard of proxy p; nil, counted, if there is no such proxy.
func (c *Collector) shardOf(p int) *shard {
	if p < 0 || p >= c.cfg.Proxies {
		c.ignored.Add(1)
		return nil
	}
	return c.shards[p/c.shardSize]
}

// Progress is how far a run has come.
type Progress struct {
	// Issued mutations of the steady phase, and of them those that have been
	// answered and have no pair pending.
	Issued, Complete int
	// Deliveries are the pairs that have arrived, Pending those still missing.
	Deliveries, Pending int
	// Connected and Ready count proxies that are so now.
	Connected, Ready int
	// Responses count all responses since the start.
	Responses int
}

// Progress returns a snapshot.
func (c *Collector) Progress() Progress {
	p := Progress{Pending: c.Pending()}
	for _, s := range c.shards {
		s.mu.Lock()
		p.Deliveries += int(s.sums.delivered)
		p.Connected += s.connected
		p.Ready += s.countReady()
		p.Responses += int(s.responses)
		s.mu.Unlock()
	}
	c.totals.Lock()
	defer c.totals.Unlock()
	p.Issued, p.Complete = len(c.totals.all), c.totals.finalised
	return p
}

// Pending returns how many pairs are still missing. Pairs whose proxy has shown
// the newest state all along, with nothing received since the mutation, are not
// counted once Config.SettleAfter has passed.
func (c *Collector) Pending() int {
	pending := 0
	for _, s := range c.shards {
		s.mu.Lock()
		pending += int(s.sums.expected - s.sums.ended())
		s.mu.Unlock()
	}
	if pending == 0 {
		return 0
	}
	return max(pending-c.countSettled(), 0)
}

// countSettled counts pairs as Pending describes; the count is reused for a
// while, since it looks at every pending pair.
func (c *Collector) countSettled() int {
	now := c.cfg.Clock.Now()
	c.settled.Lock()
	defer c.settled.Unlock()
	if c.settled.at != 0 && now.Sub(c.settled.at) < settledFor {
		return c.settled.count
	}
	count, before := 0, now.Add(-c.cfg.SettleAfter)
	for _, s := range c.shards {
		s.mu.Lock()
		for _, o := range s.open {
			if o.issued > before {
				continue
			}
			for p := range o.live.Load().pendingIn(s) {
				if o.shown(p) {
					count++
				}
			}
		}
		s.mu.Unlock()
	}
	c.settled.count, c.settled.at = count, now
	return count
}

// countReady counts the ready proxies of a locked shard.
func (s *shard) countReady() int {
	n := 0
	for _, word := range s.ready {
		n += bits.OnesCount64(word)
	}
	return n
}
