package observed

import "github.com/xdsbench/xdsbench/internal/quantile"

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
	// P50Bucket and P99Bucket are the buckets that P50 and P99 lie in; the true value
	// is somewhere within. Above the last edge, that edge stands for the quantile.
	P50Bucket *Bucket `json:"p50Bucket,omitempty"`
	P99Bucket *Bucket `json:"p99Bucket,omitempty"`
}

// Mark is what to write beside a quantile of too few samples, as of a Distribution.
func (q *Quantiles) Mark(field string) string { return quantile.Mark(field, q.Count) }

// Bucket is a bucket of a histogram of the control plane's, in the unit of the metric.
type Bucket struct {
	Low float64 `json:"low"`
	// High is absent if there is no upper edge.
	High *float64 `json:"high,omitempty"`
}

// Below returns what is left of the bucket below a limit: it has no upper edge if all
// of it lies above.
func (b Bucket) Below(limit float64) Bucket {
	switch {
	case b.Low >= limit:
		return Bucket{Low: limit}
	case b.High == nil || *b.High > limit:
		return Bucket{Low: b.Low, High: &limit}
	}
	return b
}
