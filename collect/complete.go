package collect

import (
	"math/bits"

	"github.com/xdsbench/xdsbench/event"
)

// completeLocked notes that proxy p of locked shard s holds every cluster of the
// baseline, if that is so for the first time.
func (c *Collector) completeLocked(s *shard, p int, at event.Time) {
	px := s.proxy(p)
	if px.complete || px.shown < c.baseline || c.baseline == 0 || !s.unscoped.has(p-s.first) {
		return
	}
	px.complete = true
	if due, ok := c.due(p); ok {
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
			for word &= s.unscoped[i]; word != 0; word &= word - 1 {
				if lacking := c.baseline - s.proxies[i*64+bits.TrailingZeros64(word)].shown; lacking > 0 {
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
func (s *shard) loseLocked(cl *cluster, p int) {
	if cl.baseline && cl.position(p) != nothing {
		s.proxy(p).shown--
	}
	cl.lose(p)
}

// owes reports whether proxy p of the shard has to show a mutation's state of a
// cluster: it subscribes to it, or has to know the whole mesh.
func (s *shard) owes(cl *cluster, p int) bool {
	return cl.subscribed.has(p) || cl.baseline && s.unscoped.has(p-s.first)
}
