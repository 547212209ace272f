package collect

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// sampled returns the blocks of a run: mutations for some seconds, each with
// deliveries around a latency of its own, as a debounce gives.
func sampled(seed uint64, seconds, perSecond int, spread time.Duration) *blocks {
	rng := rand.New(rand.NewPCG(seed, 0))
	b := &blocks{}
	for i := range seconds * perSecond {
		h := hdrhistogram.NewPacked(timeUnit, maxTime, mutationDigits)
		base := 100*time.Millisecond + time.Duration(rng.ExpFloat64()*float64(spread))
		for range 50 {
			_ = h.RecordValue(int64(base + time.Duration(rng.IntN(int(5*time.Millisecond)))))
		}
		b.add(time.Duration(i)*time.Second/time.Duration(perSecond), h)
	}
	return b
}

func TestTwoRunsOfOneKindDifferByNoMoreThanTheirStatedNoise(t *testing.T) {
	t.Parallel()
	apart := 0
	const pairs = 100
	for i := range uint64(pairs) {
		a, b := sampled(2*i+1, 20, 4, 30*time.Millisecond).noise(math.Inf(1)), sampled(2*i+2, 20, 4, 30*time.Millisecond).noise(math.Inf(1))
		if !a.P50.Overlaps(b.P50) || !a.P90.Overlaps(b.P90) {
			apart++
		}
	}
	// Two 95 % intervals of the same thing fail to overlap in about 1 of 200.
	if apart > pairs/10 {
		t.Errorf("%d of %d A/A pairs lie apart", apart, pairs)
	}
}

func TestRunsOfDifferentKindsLieApart(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		a, b := sampled(seed, 20, 4, 10*time.Millisecond).noise(math.Inf(1)), sampled(seed+100, 20, 4, 100*time.Millisecond).noise(math.Inf(1))
		if a.P50.Overlaps(b.P50) {
			t.Errorf("seed %d: %v and %v overlap", seed, a.P50, b.P50)
		}
	}
}

func TestNoiseShrinksWithTheLengthOfTheRun(t *testing.T) {
	t.Parallel()
	short, long := sampled(1, 10, 4, 30*time.Millisecond).noise(math.Inf(1)), sampled(1, 640, 4, 30*time.Millisecond).noise(math.Inf(1))
	if long.P50.High-long.P50.Low >= short.P50.High-short.P50.Low {
		t.Errorf("10 s: %v, 640 s: %v", short.P50, long.P50)
	}
	if long.Blocks > maxBlocks || long.BlockSeconds < 10 {
		t.Errorf("640 s: %d blocks of %v s", long.Blocks, long.BlockSeconds)
	}
}

func TestTooShortARunStatesNoNoise(t *testing.T) {
	t.Parallel()
	if n := sampled(1, minBlocks-1, 4, time.Millisecond).noise(math.Inf(1)); n != nil {
		t.Errorf("noise of %d blocks: %+v", minBlocks-1, n)
	}
}

func TestLongerBlocksHoldTheSameLatencies(t *testing.T) {
	t.Parallel()
	count := func(b *blocks) (n int64) {
		for _, h := range b.hists {
			if h != nil {
				n += h.TotalCount()
			}
		}
		return n
	}
	if got := count(sampled(3, 300, 2, time.Millisecond)); got != 300*2*50 {
		t.Errorf("%d latencies, want %d", got, 300*2*50)
	}
}

func TestNoIntervalReachesBeyondTheLongestLatency(t *testing.T) {
	t.Parallel()
	const longest = 0.15
	n := sampled(5, 20, 4, 30*time.Millisecond).noise(longest)
	if n.P99.High != longest || n.P50.High >= longest {
		t.Errorf("p50 %v, p99 %v, of latencies up to %v s", n.P50, n.P99, longest)
	}
}

func TestBootstrapTakesTheRankThatCoversTheShare(t *testing.T) {
	t.Parallel()
	if got := quantileOf([]float64{1, 2, 3}, []int64{6, 3, 1}, 0.9); got != 2 {
		t.Errorf("p90 of ten: %v, want 2", got)
	}
	if got := quantileOf([]float64{1, 2, 3}, []int64{30, 29, 1}, 0.99); got != 3 {
		t.Errorf("p99 of sixty: %v, want the largest", got)
	}
}
