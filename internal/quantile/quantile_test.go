package quantile_test

import (
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/internal/quantile"
)

func TestAQuantileNeedsSamplesBeyondIt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		share float64
		needs int64
	}{{0.5, 2}, {0.9, 10}, {0.99, 100}, {0.999, 1000}} {
		if quantile.Covered(test.share, test.needs-1) || !quantile.Covered(test.share, test.needs) {
			t.Errorf("the quantile at %v is not covered from just %d samples on", test.share, test.needs)
		}
	}
	if got := quantile.Mark("p99", 60); got != "max of 60" {
		t.Errorf("mark of the p99 of 60: %q", got)
	}
	if got := quantile.Mark("p99", 100) + quantile.Mark("p99", 0) + quantile.Mark("max", 60); got != "" {
		t.Errorf("mark of the p99 of 100, of none, and of a maximum: %q", got)
	}
}

func TestRankIsTheFirstThatCoversTheShare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		thousandths := rapid.Int64Range(1, 999).Draw(t, "thousandths")
		n := rapid.Int64Range(1, 1e12).Draw(t, "n")
		want := (thousandths*n + 999) / 1000
		if got := quantile.Rank(float64(thousandths)/1000, n); got != want {
			t.Fatalf("rank %d of %d, want %d", got, n, want)
		}
	})
}

func TestQuantilesOfAHistogramAreThoseOfItsSamples(t *testing.T) {
	t.Parallel()
	shares := []float64{0.5, 0.9, 0.99, 0.999}
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Int64Range(0, 1e9), 1, 1200).Draw(t, "samples")
		dense, packed := hdrhistogram.New(1, 1e9, 3), hdrhistogram.NewPacked(1, 1e9, 3)
		for _, v := range samples {
			_, _ = dense.RecordValue(v), packed.RecordValue(v)
		}
		slices.Sort(samples)
		largest := samples[len(samples)-1]
		for _, h := range []quantile.Histogram{dense, packed} {
			for i, got := range quantile.Of(h, largest, shares...) {
				want := samples[quantile.Rank(shares[i], int64(len(samples)))-1]
				if got < want || got > want+want/500+1 || got > largest {
					t.Fatalf("%v of %d samples: %d, want %d within 0.2 %% and not above %d", shares[i], len(samples), got, want, largest)
				}
			}
		}
	})
}

func TestNothingHasQuantilesOfZero(t *testing.T) {
	t.Parallel()
	if got := quantile.Of(hdrhistogram.New(1000, 1e9, 3), 0, 0.5, 0.99); !slices.Equal(got, []int64{0, 0}) {
		t.Errorf("quantiles of nothing: %v", got)
	}
}
