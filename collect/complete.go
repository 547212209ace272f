package collect

import (
	"math/bits"

	"github.com/xdsbench/xdsbench/event"
)

// completeLocked notes that proxy p of locked shard s holds every cluster of the
// baseline, if that is so for the first time.
func (c *Collector) completeLocked(s *shard, p int, at event.Time) {
	px := s.proxy(p)
	if px.complete || px.shown < px.due || px.due == 0 {
		return
	}
	px.complete = true
	if due, ok := c.dueLocked(s, p); ok && p < c.cfg.Initial {
		_ = s.timeToComplete.RecordValue(int64(at.Sub(due))) // over an hour: no figure to keep
	}
}

// countIncomplete counts the ready proxies that lack clusters of the baseline, or
// hold a state of them that the mesh does not have.
func (c *Collector) countIncomplete() {
	proxies, clusters := 0, int64(0)
	for _, s := range c.shards {
		s.mu.Lock()
		for i, word := range s.ready {
			for ; word != 0; word &= word - 1 {
				px := &s.proxies[i*64+bits.TrailingZeros64(word)]
				if lacking := px.due - px.shown; lacking > 0 {
					proxies++
					clusters += int64(lacking)
				}
			}
		}
		s.mu.Unlock()
	}
	c.totals.Lock()
	defer c.totals.Unlock()
	c.totals.incomplete, c.totals.lacking = proxies, clusters
}

// loseLocked drops what is known of the state of a cluster that proxy p holds.
func (s *shard) loseLocked(cl *resource, p int) {
	if cl.counts(p) && cl.position(p) != nothing {
		s.proxy(p).shown--
	}
	cl.lose(p)
}

// owes reports whether proxy p of the shard has to show a mutation's state of a
// cluster: it subscribes to it, or has to know the whole mesh.
func owes(cl *resource, p int) bool {
	return cl.subscribed.has(p) || cl.audience != nil && cl.audience.has(p)
}
