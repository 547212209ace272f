package collect

// Outage is a time in which the control plane, or some of its replicas, was away.
type Outage struct {
	// At is when it went, from the start of the steady phase; negative before.
	At float64 `json:"at" unit:"s"`
	// Planned says that the profile's target.outage took it down; otherwise it
	// ended by itself.
	Planned bool `json:"planned"`
	// Replicas are the numbers of those that went; absent if there is only one.
	Replicas []int `json:"replicas,omitempty"`
	// Seconds is how long it was away, until it said that it is ready.
	Seconds *float64 `json:"seconds,omitempty" unit:"s"`
	// ReadyAgain is from then until as many proxies were ready as before; absent if
	// they were sooner, at the replicas that were left.
	ReadyAgain *float64 `json:"readyAgain,omitempty" unit:"s"`
	// ProxiesAway is from At until as many proxies were ready as before.
	ProxiesAway *float64 `json:"proxiesAway,omitempty" unit:"s"`
	// Held is how what the proxies held differed from the API server's objects
	// just before the control plane was started again; absent while replicas were
	// left.
	Held *Drift `json:"held,omitempty"`
}

// Drift is how far proxies are from the mesh at one moment. Endpoints are summed
// over proxies.
type Drift struct {
	// GhostEndpoints are held but gone; MissingEndpoints the reverse.
	GhostEndpoints   int64 `json:"ghostEndpoints"`
	MissingEndpoints int64 `json:"missingEndpoints"`
	// Diverged counts proxies with any of either.
	Diverged int `json:"diverged"`
}

// Drift compares what the proxies hold now with f.Truth. It may be called in the
// middle of a run.
func (c *Collector) Drift(f Final) Drift {
	v := c.converge(f)
	return Drift{GhostEndpoints: v.GhostEndpoints, MissingEndpoints: v.MissingEndpoints, Diverged: v.Diverged}
}

// AddOutages puts the outages into the result, and the most ghosts that any of
// them left into its convergence.
func (r *Result) AddOutages(outages []Outage) {
	r.Outages = outages
	if r.Convergence == nil {
		return
	}
	for _, o := range outages {
		if o.Held == nil {
			continue
		}
		ghosts := o.Held.GhostEndpoints
		if most := r.Convergence.GhostEndpointsInOutage; most == nil || *most < ghosts {
			r.Convergence.GhostEndpointsInOutage = &ghosts
		}
	}
}

// hasRetired reports whether proxy p left for good.
func (c *Collector) hasRetired(p int) bool {
	s := c.shards[p/c.shardSize]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proxy(p).retired
}
