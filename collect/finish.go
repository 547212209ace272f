package collect

import (
	"fmt"
	"iter"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result"
)

// Final is what the end of a run is compared with.
type Final struct {
	// Scheduled is how many mutations the schedule had.
	Scheduled int
	// Held yields what a proxy holds: EDS resources with the hashes of their
	// usable endpoints. Nil leaves the result without a convergence check.
	Held func(proxy int) iter.Seq2[string, []uint64]
	// Followed yields what a proxy holds of the types other than EDS that are
	// followed; nil if there are none.
	Followed func(proxy int) iter.Seq[event.ResourceState]
	// Truth yields what the mesh has, in the same form as Held.
	Truth iter.Seq2[string, []uint64]
	// Interrupted says that the run did not come to its end: what is pending is
	// pending, and nothing is compared with Truth.
	Interrupted bool
	// StuckWarming counts proxies that wait for resources; nil if not known.
	StuckWarming *int
}

// Finish ends every pair that is still pending and returns the result of the
// run so far; the harness adds what it knows. Call it after the last mutation
// has ended, and before the proxies are stopped. Later events are ignored, and
// later calls return the same result.
func (c *Collector) Finish(f Final) *result.Result {
	c.finishing.Lock()
	defer c.finishing.Unlock()
	if c.result != nil {
		return c.result
	}
	missing := undelivered
	if f.Interrupted {
		missing = pendingAtEnd
	}
	c.close(missing)
	b := builder{c: c, result: &result.Result{Schema: result.Schema}}
	b.build(f)
	c.result = b.result
	return c.result
}

// close ends the pending pairs, as missing, and what waits for an answer.
func (c *Collector) close(missing ending) {
	c.totals.Lock()
	c.totals.closed = true
	unanswered := c.totals.open
	c.totals.open = make(map[uint64]*mutation)
	c.totals.Unlock()
	now := c.cfg.Clock.Now()
	patience := max(mergedWithin*c.slowest(), leastPatience)
	for _, s := range c.shards {
		for _, m := range c.closeShard(s, now, missing, patience) {
			c.finalise(m)
		}
	}
	for _, m := range unanswered {
		l := m.live.Load()
		l.mu.Lock()
		m.ended = true
		l.mu.Unlock()
		c.release(m)
	}
}

// mergedWithin is how many times the slowest delivery's latency a state may have stood that
// a proxy was never told of, and yet have been merged away with the one that undid it:
// control planes wait for more before they push. Where nothing was delivered, it may have
// stood for leastPatience.
const (
	mergedWithin  = 2
	leastPatience = 100 * time.Millisecond
)

// slowest returns the longest latency of all deliveries.
func (c *Collector) slowest() time.Duration {
	var longest int64
	for _, s := range c.shards {
		s.mu.Lock()
		for p := s.first; p < s.end; p++ {
			longest = max(longest, s.proxy(p).longest)
		}
		s.mu.Unlock()
	}
	return time.Duration(longest)
}

func (c *Collector) closeShard(s *shard, now event.Time, missing ending, patience time.Duration) []*mutation {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.handOverLocked()
	var done []*mutation
	for _, m := range s.open {
		for p := range m.live.Load().pendingIn(s) {
			end := missing
			if m.shown(p) && m.stoodAtMost(p, patience) {
				end = unobserved
			}
			done = appendDone(done, s.endLocked(m, p, end, now, false))
		}
	}
	s.open = nil
	return done
}

// difference counts the endpoints of held that truth has not, and the reverse.
func difference(held []uint64, truth map[uint64]int) (stale, missing int) {
	left := 0
	for _, n := range truth {
		left += n
	}
	seen := make(map[uint64]int, len(held))
	for _, h := range held {
		seen[h]++
		if seen[h] > truth[h] {
			stale++
		} else {
			left--
		}
	}
	return stale, left
}

// truth is the mesh's state of one cluster.
type truth struct {
	state     event.Fingerprint
	count     int
	endpoints map[uint64]int
}

// converge compares what every proxy holds with the mesh.
func (c *Collector) converge(f Final) *result.Convergence {
	truths := make(map[string]truth)
	due := make([]int, c.cfg.Proxies) // clusters that each proxy has to hold
	for name, endpoints := range f.Truth {
		t := truth{state: event.FingerprintOf(endpoints), count: len(endpoints), endpoints: make(map[uint64]int)}
		for _, e := range endpoints {
			t.endpoints[e]++
		}
		truths[name] = t
	}
	c.countDue(due, truths)
	res := &result.Convergence{StuckWarming: f.StuckWarming}
	for p := range c.cfg.Proxies {
		if c.absent(p) {
			continue
		}
		diverged := c.compareProxy(res, p, f.Held(p), truths, due[p])
		if f.Followed != nil {
			diverged += c.compareFollowed(res, p, f.Followed(p))
		}
		c.shards[p/c.shardSize].proxy(p).diverged = diverged
		if diverged > 0 {
			res.Diverged++
		}
	}
	return res
}

// countDue counts, for each proxy, the clusters of the mesh that it has to know.
func (c *Collector) countDue(due []int, truths map[string]truth) {
	type group struct {
		audience bitset
		clusters int
	}
	groups := make(map[*uint64]*group)
	for name := range truths {
		x := c.known.get(xds.EDS, name)
		if x == nil || x.audience == nil {
			continue
		}
		g, ok := groups[&x.audience[0]]
		if !ok {
			g = &group{audience: x.audience}
			groups[&x.audience[0]] = g
		}
		g.clusters++
	}
	for _, g := range groups {
		for p := range due {
			if g.audience.has(p) {
				due[p] += g.clusters
			}
		}
	}
}

// compareProxy counts what is wrong with the endpoints at proxy p, which has to know a
// number of clusters, and returns in how many clusters.
func (c *Collector) compareProxy(v *result.Convergence, p int, held iter.Seq2[string, []uint64], truths map[string]truth, due int) (diverged int) {
	wrong := func(name string, stale, missing int) {
		diverged++
		v.StaleEndpoints += int64(stale)
		v.MissingEndpoints += int64(missing)
		addExample(v, result.Divergence{Proxy: p, Cluster: name, Stale: stale, Missing: missing})
	}
	for name, endpoints := range held {
		x := c.known.get(xds.EDS, name)
		t, exists := truths[name]
		switch {
		case !exists && (x == nil || x.audience == nil):
			continue // none of the mesh's
		case !exists:
			wrong(name, len(endpoints), 0) // the mesh had it
			continue
		case x != nil && x.audience != nil && x.audience.has(p):
			due--
		}
		if len(endpoints) != t.count || event.FingerprintOf(endpoints) != t.state {
			stale, missing := difference(endpoints, t.endpoints)
			wrong(name, stale, missing)
		}
	}
	if due > 0 {
		diverged += due
		v.MissingClusters += int64(due)
	}
	return diverged
}

// compareFollowed counts the followed resources of other types that proxy p has to know
// and does not hold in their newest state.
func (c *Collector) compareFollowed(v *result.Convergence, p int, held iter.Seq[event.ResourceState]) (diverged int) {
	states := make(map[xds.Type]map[string]event.Fingerprint)
	for s := range held {
		if states[s.Type] == nil {
			states[s.Type] = make(map[string]event.Fingerprint)
		}
		states[s.Type][s.Name] = s.State
	}
	for x := range c.known.all() {
		if x.typ == xds.EDS || x.audience == nil || !x.audience.has(p) {
			continue
		}
		history := *x.history.Load()
		want, have := history[len(history)-1].state, states[x.typ][x.name]
		if have == want {
			continue
		}
		diverged++
		v.DivergedResources++
		addExample(v, result.Divergence{Proxy: p, Type: x.typ.String(), Cluster: x.name, Held: fingerprintText(have), Wanted: fingerprintText(want)})
	}
	return diverged
}

func addExample(v *result.Convergence, d result.Divergence) {
	if len(v.Examples) < maxExamples {
		v.Examples = append(v.Examples, d)
	}
}

// contradictions reports counts of pairs that do not add up.
func contradictions(p *result.Propagation) []string {
	var problems []string
	if ended := p.Deliveries + p.Undelivered + p.Interrupted + p.Retired + p.Pending; ended != p.Expected {
		problems = append(problems, fmt.Sprintf(
			"accounting: %d pairs expected, but %d ended (%d delivered, %d undelivered, %d interrupted, %d retired, %d pending): please report this as a bug",
			p.Expected, ended, p.Deliveries, p.Undelivered, p.Interrupted, p.Retired, p.Pending))
	}
	samples := p.Unobserved + p.Unrecordable
	if p.All != nil {
		samples += p.All.Count
	}
	if samples != p.Deliveries {
		problems = append(problems, fmt.Sprintf(
			"accounting: %d pairs delivered, but %d have a latency or a reason to have none: please report this as a bug",
			p.Deliveries, samples))
	}
	return problems
}
