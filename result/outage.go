package result

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
	// StaleEndpoints are held but gone; MissingEndpoints the reverse.
	StaleEndpoints   int64 `json:"staleEndpoints"`
	MissingEndpoints int64 `json:"missingEndpoints"`
	// Diverged counts proxies with any of either.
	Diverged int `json:"diverged"`
}

// AddOutages puts the outages into the result, and the most stale endpoints that any of
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
		stale := o.Held.StaleEndpoints
		if most := r.Convergence.StaleEndpointsInOutage; most == nil || *most < stale {
			r.Convergence.StaleEndpointsInOutage = &stale
		}
	}
}
