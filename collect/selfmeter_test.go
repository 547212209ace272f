package collect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/collect"
)

// lag returns a distribution of samples, each so many times.
func lag(t *testing.T, times map[time.Duration]int64) *collect.Distribution {
	t.Helper()
	h := hdrhistogram.New(1000, int64(time.Hour), 3)
	for d, n := range times {
		if err := h.RecordValues(int64(d), n); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := h.EncodeV2()
	if err != nil {
		t.Fatal(err)
	}
	return &collect.Distribution{
		Count: h.TotalCount(), P99: float64(h.ValueAtPercentile(99)) / 1e9, Histogram: string(encoded),
	}
}

func TestBottleneckNeedsEnoughSamplesBeyondTheLimit(t *testing.T) {
	const fast, slow = time.Millisecond, 20 * time.Millisecond
	for name, test := range map[string]struct {
		fast, slow int64
		saturated  bool
	}{
		"no sample":                    {0, 0, false},
		"one late mutation of 40":      {39, 1, false},
		"four of 40":                   {36, 4, false},
		"five of 40":                   {35, 5, true},
		"nine of 1000, under the p99":  {991, 9, false},
		"ten of 1000, at the p99":      {990, 10, true},
		"one of three":                 {2, 1, false},
		"two of three":                 {1, 2, true},
		"a whole starved run":          {0, 500, true},
		"five of 2000, over but never": {1995, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := collect.Harness{ScheduleLag: lag(t, map[time.Duration]int64{fast: test.fast, slow: test.slow})}
			if err := collect.StartSelfMeter().Stop(&h, 0); err != nil {
				t.Fatal(err)
			}
			late := strings.Contains(strings.Join(h.Reasons, "\n"), "issued late")
			if late != test.saturated || late && !h.Saturated {
				t.Errorf("saturated %v, reasons %q", h.Saturated, h.Reasons)
			}
		})
	}
}

func TestBottleneckIsNamedWithItsNumbers(t *testing.T) {
	h := collect.Harness{
		ScheduleLag: lag(t, map[time.Duration]int64{time.Millisecond: 30, 20 * time.Millisecond: 10}),
		StampLag:    lag(t, map[time.Duration]int64{time.Millisecond: 970, 6 * time.Millisecond: 30}),
	}
	if err := collect.StartSelfMeter().Stop(&h, 0); err != nil {
		t.Fatal(err)
	}
	reasons := strings.Join(h.Reasons, "\n")
	for _, want := range []string{
		"issued late (10 of 40 by more than 10ms, p99 20", "time stamp (30 of 1000 for more than 5ms, p99 6",
		"lower churn rates", "proxies.count",
	} {
		if !strings.Contains(reasons, want) {
			t.Errorf("no %q in %q", want, reasons)
		}
	}
}

func TestADelayBelowATenthOfTheLatencyIsNoBottleneck(t *testing.T) {
	stamps := lag(t, map[time.Duration]int64{time.Millisecond: 900, 30 * time.Millisecond: 100})
	for median, saturated := range map[float64]bool{0: true, 0.1: true, 0.2: true, 0.4: false, 2: false} {
		h := collect.Harness{StampLag: stamps}
		if err := collect.StartSelfMeter().Stop(&h, median); err != nil {
			t.Fatal(err)
		}
		if stamped := strings.Contains(strings.Join(h.Reasons, "\n"), "time stamp"); stamped != saturated {
			t.Errorf("30 ms of a median of %g s: %v, reasons %q", median, stamped, h.Reasons)
		}
	}
}
