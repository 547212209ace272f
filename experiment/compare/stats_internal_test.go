package compare

import (
	"math"
	"testing"
)

func TestCorrectionsFollowTheirDefinitions(t *testing.T) {
	p := []float64{0.04, 0.01, 0.03, 0.5}
	for name, c := range map[string]struct{ got, want []float64 }{
		"Holm":               {holm(p), []float64{0.09, 0.04, 0.09, 0.5}},
		"Benjamini-Hochberg": {benjaminiHochberg(p), []float64{0.16 / 3, 0.04, 0.16 / 3, 0.5}},
	} {
		for i := range c.want {
			if math.Abs(c.got[i]-c.want[i]) > 1e-12 {
				t.Errorf("%s: %v, want %v", name, c.got, c.want)
				break
			}
		}
	}
}

func TestRunsNeeded(t *testing.T) {
	for level, want := range map[float64]int{0.11: 3, 0.05: 4, 0.01: 5, 0.05 / 6: 5, 0.05 / 7: 6} {
		if got := runsNeeded(level); got != want {
			t.Errorf("level %v: %d runs, want %d", level, got, want)
		}
	}
}

func TestFewRunsShowTheirExtremes(t *testing.T) {
	for n := 1; n <= 5; n++ {
		values := []float64{5, 1, 3, 2, 4}[:n]
		s := summarize(values)
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
		if s.N != n || s.Low != low || s.High != high || s.Median < low || s.Median > high {
			t.Errorf("%v: %+v", values, s)
		}
	}
	many := summarize([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 100})
	if many.Low == 1 || many.High == 100 || many.Median != 6.5 {
		t.Errorf("12 runs: %+v", many)
	}
}
