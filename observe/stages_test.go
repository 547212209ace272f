package observe_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// explained returns a result in which 10 pushes carried the visible mutations,
// with istiod's bucket edges, and whose stages have been worked out.
func explained(visible int, d observe.Debounce) (*result.Result, []string) {
	r := &result.Result{
		Mutations: &result.Mutations{
			Applied: visible + 5, Noop: 5,
			WriteTime: &result.Distribution{Count: 15, Mean: 0.002, P50: 0.002, P99: 0.003},
		},
		Propagation: &result.Propagation{
			All:        &result.Distribution{Count: 100, Mean: 0.170, P50: 0.168, P99: 0.3},
			FirstProxy: &result.Distribution{Count: 10, Mean: 0.130, P50: 0.128, P99: 0.2},
		},
		Harness: &result.Harness{
			ScheduleLag: &result.Distribution{Count: 15, Mean: 0.001, P50: 0.001, P99: 0.002},
			StampLag:    &result.Distribution{Count: 100, Mean: 0.0001, P50: 0.0001, P99: 0.0002},
		},
		ControlPlane: &observed.ControlPlane{Metrics: &observed.Metrics{Histograms: map[string]*observed.Quantiles{
			"pilot_debounce_time":            {Count: 10, Mean: 0.101, P50: 0.55, P99: 0.99, P50Low: 0.1, P50Width: 0.9, Width: 0.9},
			"pilot_pushcontext_init_seconds": {Count: 10, Mean: 0.001, P50: 0.005, P99: 0.01, P50Width: 0.01, Width: 0.01},
			"pilot_proxy_queue_time":         {Count: 100, Mean: 0.028, P50: 0.05, P99: 0.26, P50Width: 0.1, Width: 0.4},
			"pilot_xds_push_time":            {Count: 100, Mean: 0.0003, P50: 0.005, P99: 0.01, P50Width: 0.01, Width: 0.01},
			"pilot_xds_send_time":            {Count: 100, Mean: 0.0001, P50: 0.005, P99: 0.01, P50Width: 0.01, Width: 0.01},
		}}},
	}
	return r, observe.AddStages(r, d)
}

func inTotal(s *observed.Stages) []*observed.Stage {
	all := []*observed.Stage{s.Schedule, s.Write, s.Watch, s.Debounce, s.PushContext, s.Queue, s.Push, s.Send, s.Wire, s.Receive}
	return slices.DeleteFunc(all, func(x *observed.Stage) bool { return x == nil })
}

func TestStagesAddUpToTheWholeWay(t *testing.T) {
	r, warnings := explained(10, observe.Debounce{After: 100 * time.Millisecond, Steady: time.Minute})
	s := r.ControlPlane.Stages
	var mean, p50, share float64
	for _, x := range inTotal(s) {
		mean, p50, share = mean+x.Mean, p50+x.P50, share+x.Share
	}
	if math.Abs(mean-0.170) > 1e-9 || math.Abs(p50-0.168) > 1e-9 || math.Abs(share-1) > 1e-9 {
		t.Errorf("means add up to %v, medians to %v, shares to %v; want 0.170, 0.168, 1", mean, p50, share)
	}
	if len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}
}

func TestScrapedStagesTellTheirUncertainty(t *testing.T) {
	r, _ := explained(10, observe.Debounce{})
	s := r.ControlPlane.Stages
	// The mean lies in the median's bucket, of which nothing more is known; the push
	// context is part of the control plane's debounce time.
	if d := s.Debounce; d.Source != observed.SourceScraped || math.Abs(d.P50-0.1) > 1e-9 || math.Abs(d.Width-0.91) > 1e-9 {
		t.Errorf("debounce %+v, want 100 ms ± 910 ms, scraped", d)
	}
	if g := s.Push; math.Abs(g.Mean-0.0002) > 1e-9 {
		t.Errorf("generation %+v, want the push time less the send time", g)
	}
	if s.Watch.Source != observed.SourceEstimated || s.Wire.Source != observed.SourceEstimated || s.Write.Source != observed.SourceOurs {
		t.Errorf("sources: watch %s, wire %s, write %s", s.Watch.Source, s.Wire.Source, s.Write.Source)
	}
}

func TestDebounceIsCountedPerMutation(t *testing.T) {
	// Four mutations a push: the first waits 1 s and the last the quiet 100 ms.
	r := &result.Result{
		Mutations:   &result.Mutations{Applied: 40},
		Propagation: &result.Propagation{All: &result.Distribution{Count: 40, Mean: 0.6, P50: 0.6}},
		ControlPlane: &observed.ControlPlane{Metrics: &observed.Metrics{Histograms: map[string]*observed.Quantiles{
			"pilot_debounce_time": {Count: 10, Mean: 1, P50: 1, P50Low: 0.5, P50Width: 0.6},
		}}},
	}
	observe.AddStages(r, observe.Debounce{After: 100 * time.Millisecond, Max: time.Second, Steady: time.Minute})
	d := r.ControlPlane.Stages.Debounce
	if d.Source != observed.SourceEstimated || math.Abs(d.Mean-0.55) > 1e-9 {
		t.Errorf("debounce %+v, want an estimate of 550 ms", d)
	}
}

func TestMutationsThatKeepTheDebounceFromGoingQuietAreWarnedOf(t *testing.T) {
	for _, test := range []struct {
		visible int
		after   time.Duration
		want    bool
	}{
		{40, 100 * time.Millisecond, false}, // every 250 ms
		{200, 100 * time.Millisecond, true}, // every 50 ms
		{200, 10 * time.Millisecond, false}, // quiet enough for this one
		{2000, 0, false},                    // it is not known to debounce
		{1, 100 * time.Second, false},       // nothing to come between
		{100, 100 * time.Millisecond, true}, // exactly as often
	} {
		_, warnings := explained(test.visible, observe.Debounce{After: test.after, Max: 10 * time.Second, Steady: 10 * time.Second})
		got := len(warnings) == 1 && strings.Contains(warnings[0], "seldom goes quiet")
		if got != test.want {
			t.Errorf("%d visible mutations in 10 s, quiet time %s: warnings %q, want one: %v", test.visible, test.after, warnings, test.want)
		}
	}
}

func TestStagesOfAForeignControlPlaneAreOurOwnAlone(t *testing.T) {
	r, _ := explained(10, observe.Debounce{})
	r.ControlPlane = &observed.ControlPlane{}
	observe.AddStages(r, observe.Debounce{})
	s := r.ControlPlane.Stages
	if s.Debounce != nil || s.Queue != nil || s.Write == nil || s.Watch == nil {
		t.Errorf("stages %+v, want none that must be scraped", s)
	}
	if math.Abs(s.Watch.Mean-(0.130-0.001-0.002-0.0001)) > 1e-9 {
		t.Errorf("watch %+v, want all of the first proxy's time that is not ours", s.Watch)
	}
}

func TestMissingMetricsAreNamed(t *testing.T) {
	missing, err := observe.MissingMetrics([]byte(scrapeAfter))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"pilot_debounce_time", "pilot_pushcontext_init_seconds", "pilot_proxy_queue_time", "pilot_xds_send_time",
		"pilot_inbound_updates", "pilot_push_triggers", "pilot_services",
	}
	if !slices.Equal(missing, want) {
		t.Errorf("missing %q, want %q", missing, want)
	}
}
