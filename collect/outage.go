package collect

import "github.com/xdsbench/xdsbench/result"

// Drift compares what the proxies hold now with f.Truth. It may be called in the
// middle of a run.
func (c *Collector) Drift(f Final) result.Drift {
	v := c.converge(f)
	return result.Drift{StaleEndpoints: v.StaleEndpoints, MissingEndpoints: v.MissingEndpoints, Diverged: v.Diverged}
}

// hasRetired reports whether proxy p left for good.
func (c *Collector) hasRetired(p int) bool {
	s := c.shards[p/c.shardSize]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proxy(p).retired
}
