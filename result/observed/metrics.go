package observed

// Metrics is what the control plane's own metrics say of the time between two
// scrapes. Keys are series in Prometheus notation, without the label "le".
type Metrics struct {
	// Gauges are as in the second scrape.
	Gauges map[string]float64 `json:"gauges,omitempty"`
	// Counters are increases; those that did not move are left out.
	Counters map[string]float64 `json:"counters,omitempty"`
	// Histograms are of the observations between the scrapes; summed over all
	// labels, and left out without an observation.
	Histograms map[string]*Quantiles `json:"histograms,omitempty"`
	// Restarted says that the process, or a replica, was started between the
	// scrapes: its counters and histograms then count from its start.
	Restarted bool `json:"restarted,omitempty"`
}

// Quantiles are estimates from a Prometheus histogram, interpolated linearly
// within a bucket as histogram_quantile does, in the unit of the metric.
type Quantiles struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	// Width is the width of the bucket that P99 lies in: its uncertainty.
	Width float64 `json:"width"`
	// P50Low and P50Width are the lower edge and the width of P50's bucket.
	P50Low   float64 `json:"p50Low"`
	P50Width float64 `json:"p50Width"`
	// Beyond says that P99 lies above the last bucket edge, which is given instead.
	Beyond bool `json:"beyond,omitempty"`
}
