package collect

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// What the histograms hold: times in nanoseconds with a resolution of 1 µs up
// to an hour, sizes in bytes up to 64 GiB.
const (
	timeUnit    = int64(time.Microsecond)
	maxTime     = int64(time.Hour)
	maxBytes    = int64(64 << 30)
	fleetDigits = 3
	// A mutation's own histogram answers its row's median and p99 within 1 %, a
	// proxy's own within 10 %, and both stay at about a kilobyte.
	mutationDigits = 2
	proxyDigits    = 1
)

const secondsPerNanosecond = 1e-9

func timesHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(timeUnit, maxTime, fleetDigits)
}

// coarseHistogram is within 1 %, and a tenth of timesHistogram's size.
func coarseHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(timeUnit, maxTime, mutationDigits)
}

// samples is a histogram whose least and largest sample are known exactly, not by
// their buckets alone.
type samples struct {
	histogram
	least, largest int64 // without samples the largest is below the least
}

// histogram is a dense or a packed one.
type histogram interface {
	RecordValue(v int64) error
	TotalCount() int64
	Reset()
	MergeInto(dst *hdrhistogram.Histogram) (dropped int64)
}

// dense makes a dense histogram a histogram.
type dense struct{ *hdrhistogram.Histogram }

func (d dense) MergeInto(dst *hdrhistogram.Histogram) int64 { return dst.Merge(d.Histogram) }

func newSamples(h histogram) *samples {
	return &samples{histogram: h, least: math.MaxInt64, largest: math.MinInt64}
}

// newTimes and newCoarse are for what is recorded often, newPacked for the rest.
func newTimes() *samples  { return newSamples(dense{timesHistogram()}) }
func newCoarse() *samples { return newSamples(dense{coarseHistogram()}) }
func newPacked(unit, most int64) *samples {
	return newSamples(hdrhistogram.NewPacked(unit, most, fleetDigits))
}

// RecordValue fails for what lies outside of the histogram's range.
func (s *samples) RecordValue(v int64) error {
	if err := s.histogram.RecordValue(v); err != nil {
		return err
	}
	s.least, s.largest = min(s.least, v), max(s.largest, v)
	return nil
}

// merge adds the samples of a histogram of the same range, the largest of which is
// known exactly. The least is not kept.
func (s *samples) merge(h *hdrhistogram.PackedHistogram, largest int64) {
	if into, ok := s.histogram.(dense); ok {
		h.MergeInto(into.Histogram)
		s.largest = max(s.largest, largest)
	}
}

func (s *samples) Reset() {
	s.histogram.Reset()
	s.least, s.largest = math.MaxInt64, math.MinInt64
}
