package compare

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

const (
	// confidence of the intervals beside medians, where there are runs enough.
	confidence = 0.95
	// enough is the number of runs beyond which more are not advised.
	enough = 50
)

// Side is one metric in one set.
type Side struct {
	// N is the number of runs that have the metric.
	N      int     `json:"n"`
	Median float64 `json:"median"`
	// Low and High are a 95 % interval of the median, or, with fewer than six
	// runs, which cannot give one, the smallest and the largest value.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Values are in the order of the set's runs.
	Values []float64 `json:"values"`
	// Note qualifies them: "max of 60" of quantiles of too few samples.
	Note string `json:"note,omitempty"`
}

func summarize(values []float64) *Side {
	n := len(values)
	if n == 0 {
		return nil
	}
	// The widest interval that n values give, from the smallest to the largest,
	// holds the median with a probability of 1 - 2^(1-n).
	widest := 1 - math.Pow(2, float64(1-n))
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	s := benchmath.AssumeNothing.Summary(sample, min(confidence, widest))
	side := &Side{N: n, Median: s.Center, Low: s.Lo, High: s.Hi, Values: values}
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		side.Low, side.High = slices.Min(values), slices.Max(values)
	}
	return side
}

// pValue is that of the Mann-Whitney U test: how likely values of one and the
// same distribution lie as far apart as these. It is 1 if all are equal.
func pValue(a, b []float64) float64 {
	t := &benchmath.DefaultThresholds
	return benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(a), t), benchmath.NewSample(slices.Clone(b), t)).P
}

// smallestP is the p-value of n and m runs of which none overlap: the smallest
// that they can reach.
func smallestP(n, m int) float64 {
	if n == 0 || m == 0 {
		return 1
	}
	low, high := make([]float64, n), make([]float64, m)
	for i := range low {
		low[i] = float64(i)
	}
	for i := range high {
		high[i] = float64(n + i)
	}
	return pValue(low, high)
}

// runsNeeded is how many runs a side has to have for a p-value of level.
func runsNeeded(level float64) int {
	for n := 1; n < enough; n++ {
		if smallestP(n, n) <= level {
			return n
		}
	}
	return enough
}

// holm corrects p-values so that the chance of any false finding among them is
// at most the level that they are held against.
func holm(p []float64) []float64 {
	corrected := make([]float64, len(p))
	worst := 0.0
	for rank, i := range ascending(p) {
		worst = max(worst, min(1, float64(len(p)-rank)*p[i]))
		corrected[i] = worst
	}
	return corrected
}

// benjaminiHochberg corrects p-values so that the expected share of false
// findings among all findings is at most the level that they are held against.
func benjaminiHochberg(p []float64) []float64 {
	corrected := make([]float64, len(p))
	best := 1.0
	for rank, i := range slices.Backward(ascending(p)) {
		best = min(best, p[i]*float64(len(p))/float64(rank+1))
		corrected[i] = best
	}
	return corrected
}

// ascending returns the indices of p in the order of its values.
func ascending(p []float64) []int {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	return order
}
