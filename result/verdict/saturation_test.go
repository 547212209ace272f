package verdict_test

import (
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/internal/self"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// lag returns a distribution of samples, each so many times.
func lag(t *testing.T, times map[time.Duration]int64) *result.Distribution {
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
	return &result.Distribution{
		Count: h.TotalCount(), P99: float64(h.ValueAtPercentile(99)) / 1e9, Histogram: string(encoded),
	}
}

func TestBottleneckNeedsEnoughSamplesBeyondTheLimit(t *testing.T) {
	const fast, slow = time.Millisecond, 20 * time.Millisecond
	for name, test := range map[string]struct {
		fast, slow int64
		saturated  bool
	}{
		"no sample":                   {0, 0, false},
		"five of 40":                  {35, 5, false},
		"half of 40":                  {20, 20, true},
		"five of 80":                  {75, 5, false},
		"eight of 80, at the p90":     {72, 8, true},
		"nine of 1000, under the p99": {991, 9, false},
		"ten of 1000, at the p99":     {990, 10, true},
		"one of three":                {2, 1, false},
		"two of three":                {1, 2, true},
		"a whole starved run":         {0, 500, true},
		"five of 2000":                {1995, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := result.Harness{ScheduleLag: lag(t, map[time.Duration]int64{fast: test.fast, slow: test.slow})}
			verdict.Saturation(&h, self.Pauses{}, nil)
			late := strings.Contains(strings.Join(h.Reasons, "\n"), "issued late")
			if late != test.saturated || late && !h.Saturated {
				t.Errorf("saturated %v, reasons %q", h.Saturated, h.Reasons)
			}
		})
	}
}

// stamped is a harness whose messages had times of arrival.
func stamped() result.Harness {
	cores := 0.06
	return result.Harness{StampLag: &result.Distribution{Count: 1}, SteadyCores: &cores, GOMAXPROCS: 2}
}

func TestBottleneckIsNamedWithItsNumbers(t *testing.T) {
	t.Parallel()
	h := stamped()
	h.ScheduleLag = lag(t, map[time.Duration]int64{time.Millisecond: 20, 20 * time.Millisecond: 20})
	latencies := result.Propagation{
		All:       &result.Distribution{Count: 1000, P50: 0.01, P90: 0.02, P99: 0.03},
		Arrived:   &result.Distribution{Count: 1000, P50: 0.008, P90: 0.014, P99: 0.015},
		LastProxy: &result.Distribution{Count: 60},
	}
	verdict.Saturation(&h, self.Pauses{}, &latencies)
	reasons := strings.Join(h.Reasons, "\n")
	for _, want := range []string{
		"issued late (20 of 40 by more than 10ms, p99 20", "6ms of every proxy's p90 of 20ms (30 %, limit 5ms or a tenth; 60 mutations)",
		"used 3 % of its CPUs", "lower churn rates", "proxies.count",
	} {
		if !strings.Contains(reasons, want) {
			t.Errorf("no %q in %q", want, reasons)
		}
	}
}

func TestOwnPartOfALatencyIsABottleneckBeyondATenth(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		all, own  time.Duration
		saturated bool
	}{
		"5 ms of any":       {6 * time.Millisecond, 5 * time.Millisecond, false},
		"6 ms of 10 ms":     {10 * time.Millisecond, 6 * time.Millisecond, true},
		"30 ms of 200 ms":   {200 * time.Millisecond, 30 * time.Millisecond, true},
		"30 ms of 400 ms":   {400 * time.Millisecond, 30 * time.Millisecond, false},
		"arrived unlike it": {400 * time.Millisecond, -time.Millisecond, false},
	} {
		for _, last := range []bool{false, true} {
			all := &result.Distribution{Count: 600, P99: test.all.Seconds()}
			arrived := &result.Distribution{Count: 600, P99: (test.all - test.own).Seconds()}
			p := result.Propagation{All: all, Arrived: arrived, LastProxy: &result.Distribution{Count: 600}}
			if last {
				p = result.Propagation{All: &result.Distribution{}, LastProxy: all, LastArrived: arrived}
			}
			h := stamped()
			verdict.Saturation(&h, self.Pauses{}, &p)
			if blamed := strings.Contains(strings.Join(h.Reasons, "\n"), "time stamp"); blamed != test.saturated {
				t.Errorf("%s, last proxy %v: %v, reasons %q", name, last, blamed, h.Reasons)
			}
		}
	}
}

// The p99 of ten mutations is one of them: a stall of one is no bottleneck.
func TestAQuantileOfFewMutationsIsNoBottleneck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mutations int64
		saturated bool
	}{{10, false}, {499, false}, {500, true}} {
		h := stamped()
		verdict.Saturation(&h, self.Pauses{}, &result.Propagation{
			All:       &result.Distribution{Count: 20 * test.mutations, P50: 0.04, P90: 0.042, P99: 0.045},
			Arrived:   &result.Distribution{Count: 20 * test.mutations, P50: 0.04, P90: 0.042, P99: 0.0397},
			LastProxy: &result.Distribution{Count: test.mutations},
		})
		if h.Saturated != test.saturated {
			t.Errorf("5.3 ms of 45 ms of the p99 of %d mutations: saturated %v, reasons %q", test.mutations, h.Saturated, h.Reasons)
		}
	}
}

func TestWithoutTimesOfArrivalTheBottleneckIsUnknown(t *testing.T) {
	t.Parallel()
	h := result.Harness{}
	verdict.Saturation(&h, self.Pauses{}, &result.Propagation{All: &result.Distribution{Count: 1}})
	if h.Saturated || h.Unknown == "" {
		t.Errorf("saturated %v, unknown %q: want it unknown", h.Saturated, h.Unknown)
	}
}

func TestProcessorsAreJudgedUnderSteadyLoad(t *testing.T) {
	t.Parallel()
	cpu, wall, cores := 10.0, 100.0, 1.9
	h := result.Harness{CPUSeconds: &cpu, WallSeconds: &wall, SteadyCores: &cores, GOMAXPROCS: 2}
	verdict.Saturation(&h, self.Pauses{}, nil)
	if !h.Saturated || !strings.Contains(strings.Join(h.Reasons, ""), "95 % of its 2 CPUs under steady load") {
		t.Errorf("5 %% of the whole run, 95 %% of steady load: %v, %q", h.Saturated, h.Reasons)
	}
}
