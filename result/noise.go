package result

// Noise is the within-run scatter of the quantiles of propagation.all: 95 % intervals
// of a block bootstrap. They say how far the quantiles depend on which of the run's
// seconds are looked at; another run may differ by more.
//
// The deliveries of one mutation, and of mutations that one push carried, are
// not independent, so whole blocks of time are drawn with replacement, not
// deliveries: Künsch, The Jackknife and the Bootstrap for General Stationary
// Observations, Annals of Statistics 17 (1989). What differs from one start of
// the processes to the next is not in it.
type Noise struct {
	// Blocks is how many there are, BlockSeconds how long one is.
	Blocks       int     `json:"blocks"`
	BlockSeconds float64 `json:"blockSeconds" unit:"s"`
	P50          Range   `json:"p50"`
	P90          Range   `json:"p90"`
	P99          Range   `json:"p99"`
}

// Range is an interval of a time in seconds.
type Range struct {
	Low  float64 `json:"low" unit:"s"`
	High float64 `json:"high" unit:"s"`
}

// Overlaps reports whether two intervals have a value in common.
func (r Range) Overlaps(o Range) bool { return r.Low <= o.High && o.Low <= r.High }
