package collect

import (
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/internal/quantile"
	"github.com/xdsbench/xdsbench/result"
)

const (
	// maxBlocks bounds the memory of the blocks; a longer run has longer ones.
	maxBlocks = 64
	// minBlocks are too few to say anything of their spread.
	minBlocks = 5
	// resamples of the bootstrap, and the share of them that an interval holds.
	resamples   = 400
	noiseInside = 0.95
)

// blocks are latencies by the time at which their mutation was scheduled.
type blocks struct {
	width time.Duration
	hists []*hdrhistogram.Histogram
}

// add takes the latencies of a mutation scheduled this long after the start of
// the steady phase.
func (b *blocks) add(offset time.Duration, latencies *hdrhistogram.PackedHistogram) {
	if b.width == 0 {
		b.width = time.Second
	}
	i := max(0, int(offset/b.width))
	for i >= maxBlocks {
		b.halve()
		i = int(offset / b.width)
	}
	for len(b.hists) <= i {
		b.hists = append(b.hists, nil)
	}
	if b.hists[i] == nil {
		b.hists[i] = coarseHistogram()
	}
	latencies.MergeInto(b.hists[i]) // the same range: nothing is dropped
}

// halve makes the blocks twice as long.
func (b *blocks) halve() {
	b.width *= 2
	for i := range (len(b.hists) + 1) / 2 {
		h := b.hists[2*i]
		if 2*i+1 < len(b.hists) && b.hists[2*i+1] != nil {
			if h == nil {
				h = coarseHistogram()
			}
			h.Merge(b.hists[2*i+1])
		}
		b.hists[i] = h
	}
	b.hists = b.hists[:(len(b.hists)+1)/2]
}

// noise returns the intervals; nil if there are too few blocks. The longest latency,
// in seconds, bounds them: the buckets' upper edges may lie above it.
func (b *blocks) noise(longest float64) *result.Noise {
	values, counts := b.table(longest)
	if len(counts) < minBlocks {
		return nil
	}
	n := &result.Noise{Blocks: len(counts), BlockSeconds: b.width.Seconds()}
	rng := rand.New(rand.NewPCG(1, uint64(len(counts)))) // the same run gives the same intervals
	drawn := map[float64][]float64{0.5: nil, 0.9: nil, 0.99: nil}
	sum := make([]int64, len(values))
	for range resamples {
		clear(sum)
		for range counts {
			for i, c := range counts[rng.IntN(len(counts))] {
				sum[i] += c
			}
		}
		for q := range drawn {
			drawn[q] = append(drawn[q], quantileOf(values, sum, q))
		}
	}
	n.P50, n.P90, n.P99 = inside(drawn[0.5]), inside(drawn[0.9]), inside(drawn[0.99])
	return n
}

// table returns the latencies that occur, ascending, in seconds and up to the longest,
// and how often each occurs in each block that has any.
func (b *blocks) table(longest float64) (values []float64, counts [][]int64) {
	index := map[int64]int{}
	var edges []int64
	for _, h := range b.hists {
		if h == nil {
			continue
		}
		for _, bar := range h.Distribution() {
			if _, known := index[bar.To]; !known && bar.Count > 0 {
				index[bar.To] = 0
				edges = append(edges, bar.To)
			}
		}
	}
	slices.Sort(edges)
	for i, edge := range edges {
		index[edge] = i
		values = append(values, min(float64(edge)*secondsPerNanosecond, longest))
	}
	for _, h := range b.hists {
		if h == nil {
			continue
		}
		block := make([]int64, len(edges))
		for _, bar := range h.Distribution() {
			if bar.Count > 0 {
				block[index[bar.To]] += bar.Count
			}
		}
		counts = append(counts, block)
	}
	return values, counts
}

// quantileOf returns the least value that at least a share q of the counts does not
// exceed.
func quantileOf(values []float64, counts []int64, q float64) float64 {
	var all int64
	for _, c := range counts {
		all += c
	}
	rank := quantile.Rank(q, all)
	for i, c := range counts {
		if rank -= c; rank <= 0 {
			return values[i]
		}
	}
	return values[len(values)-1]
}

// inside returns the interval that holds the middle share of the samples.
func inside(samples []float64) result.Range {
	sort.Float64s(samples)
	cut := int((1 - noiseInside) / 2 * float64(len(samples)))
	return result.Range{Low: samples[cut], High: samples[len(samples)-1-cut]}
}
