// Package quantile says which sample of a set is its quantile: the smallest that at
// least that share of the samples does not exceed (nearest rank, rounded up). Where
// the samples are too few to leave any out, as 60 are for a p99, that is the largest;
// whoever shows it says so.
package quantile

import (
	"fmt"
	"math"
)

// tolerance is how far above a whole number, in relation to it, a product of a share
// and a count is still that number: 0.999 is no binary fraction. It is a little more
// than the three roundings that such a product takes, so that it reaches no next rank
// up to 10^12 samples.
const tolerance = 5e-16

// Rank returns which of n samples in ascending order is the quantile, counting from
// one; 0 without samples. The share is between 0 and 1.
func Rank(share float64, n int64) int64 {
	rank := int64(math.Ceil(share * float64(n) * (1 - tolerance)))
	return min(max(rank, 1), n)
}

// Covered reports whether n samples are enough for a quantile: 10 for a p90, 100 for
// a p99. With fewer it is the largest sample.
func Covered(share float64, n int64) bool { return Rank(share, n) < n }

// Mark is what is written beside a quantile, by its name in results such as "p99",
// that is the largest of n samples for lack of more: "max of 60". It is empty for other
// figures, and without samples.
func Mark(name string, n int64) string {
	share, ok := map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}[name]
	if !ok || n <= 0 || Covered(share, n) {
		return ""
	}
	return fmt.Sprintf("max of %d", n)
}

// Histogram is an HdrHistogram, dense or packed.
type Histogram interface {
	TotalCount() int64
	ValueAtPercentilesSlice(percentiles []float64) []int64
}

// Of returns quantiles of a histogram, each at the upper edge of its bucket but no
// larger than the largest sample. All are zero without samples.
func Of(h Histogram, largest int64, shares ...float64) []int64 {
	// HdrHistogram rounds ranks to the nearest, so each is asked for by the
	// percentile that is exactly there.
	percentiles := make([]float64, len(shares))
	for i, share := range shares {
		percentiles[i] = 100 * float64(Rank(share, h.TotalCount())) / float64(max(h.TotalCount(), 1))
	}
	values := h.ValueAtPercentilesSlice(percentiles)
	for i := range values {
		values[i] = min(values[i], largest)
	}
	return values
}
