package collect

import "github.com/xdsbench/xdsbench/result"

// Drift compares what the proxies hold now with f.Truth. It may be called in the
// middle of a run.
func (c *Collector) Drift(f Final) result.Drift {
	v := c.converge(f)
	return result.Drift{StaleEndpoints: v.StaleEndpoints, MissingEndpoints: v.MissingEndpoints, Diverged: v.Diverged}
}
