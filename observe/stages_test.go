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

func in(low, high float64) *observed.Bucket { return &observed.Bucket{Low: low, High: &high} }

// explained returns a result in which 10 pushes carried the visible mutations,
// with istiod's bucket edges, and whose stages have been worked out.
func explained(visible int, d observe.Debounce) (*result.Result, []string) {
	r := &result.Result{
		Mutations: &result.Mutations{
			Applied: visible + 5, Noop: 5,
			WriteTime: &result.Distribution{Count: 15, Mean: 0.002, P50: 0.002, P99: 0.003},
		},
		Propagation: &result.Propagation{
			All:        &result.Distribution{Count: 100, Mean: 0.170, P50: 0.168, P99: 0.3, Max: 0.35},
			FirstProxy: &result.Distribution{Count: 10, Mean: 0.130, P50: 0.128, P99: 0.2},
		},
		Harness: &result.Harness{
			ScheduleLag: &result.Distribution{Count: 15, Mean: 0.001, P50: 0.001, P99: 0.002},
			StampLag:    &result.Distribution{Count: 100, Mean: 0.0001, P50: 0.0001, P99: 0.0002},
		},
		ControlPlane: &observed.ControlPlane{Metrics: &observed.Metrics{Histograms: map[string]*observed.Quantiles{
			"pilot_debounce_time":            {Count: 10, Mean: 0.101, P50: 0.55, P99: 0.99, P50Bucket: in(0.1, 1), P99Bucket: in(0.1, 1)},
			"pilot_pushcontext_init_seconds": {Count: 10, Mean: 0.001, P50: 0.005, P99: 0.01, P50Bucket: in(0, 0.01), P99Bucket: in(0, 0.01)},
			"pilot_proxy_queue_time":         {Count: 100, Mean: 0.028, P50: 0.05, P99: 0.26, P50Bucket: in(0, 0.1), P99Bucket: in(0.1, 0.5)},
			"pilot_xds_push_time":            {Count: 100, Mean: 0.0003, P50: 0.005, P99: 0.01, P50Bucket: in(0, 0.01), P99Bucket: in(0, 0.01)},
			"pilot_xds_send_time":            {Count: 100, Mean: 0.0001, P50: 0.005, P99: 0.01, P50Bucket: in(0, 0.01), P99Bucket: in(0, 0.01)},
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
	var mean, share float64
	for _, x := range inTotal(s) {
		mean, share = mean+x.Mean, share+*x.Share
	}
	if math.Abs(mean-0.170) > 1e-9 || math.Abs(share-1) > 1e-9 || s.Unattributed != nil {
		t.Errorf("means add up to %v, shares to %v; want 0.170 and 1", mean, share)
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
	d := s.Debounce
	if d.Source != observed.SourceScraped || math.Abs(d.Mean-0.1) > 1e-9 || *d.P50 != 0.101 || d.P50Bucket.Low != 0.1 {
		t.Errorf("debounce %+v, want a mean of 100 ms and a median within 100 ms and more, scraped", d)
	}
	// The slowest delivery took 350 ms, so no part of it took 990 ms.
	if *d.P99 != 0.35 || *d.P99Bucket.High != 0.35 || *d.P50Bucket.High != 0.35 {
		t.Errorf("debounce: p50 in %v, p99 %v in %v; want them up to the slowest delivery", d.P50Bucket, *d.P99, d.P99Bucket)
	}
	if s.Watch.P50 != nil || s.Wire.P99 != nil {
		t.Errorf("watch %+v, wire %+v: what others leave has no quantiles", s.Watch, s.Wire)
	}
	if g := s.Push; math.Abs(g.Mean-0.0002) > 1e-9 {
		t.Errorf("generation %+v, want the push time less the send time", g)
	}
	if s.Watch.Source != observed.SourceEstimated || s.Wire.Source != observed.SourceEstimated || s.Write.Source != observed.SourceOurs {
		t.Errorf("sources: watch %s, wire %s, write %s", s.Watch.Source, s.Wire.Source, s.Write.Source)
	}
}

func TestStagesThatOverlapLeaveTheRestUnattributed(t *testing.T) {
	r, _ := explained(10, observe.Debounce{})
	// The event came before the write's answer, and the debounce counts from there.
	r.Mutations.WriteTime.Mean = 0.0625
	observe.AddStages(r, observe.Debounce{})
	s := r.ControlPlane.Stages
	// Until the first proxy 0.001 + 0.0625 + 0.1 + 0.001 + 0.0002 + 0.0001 + 0.0001 in
	// 0.130; the queue is 0.028 of the 0.040 after it.
	if s.Watch != nil || s.Wire != nil || s.Unattributed == nil || s.Overlap == nil {
		t.Fatalf("stages %+v", s)
	}
	if u := s.Unattributed.Mean; u != 0 || math.Abs(*s.Overlap-0.0349) > 1e-9 {
		t.Errorf("unattributed %v, overlap %v; want 0, 0.0349", u, *s.Overlap)
	}
	if s.Debounce.Share != nil || s.Write.Share != nil || *s.Total.Share != 1 {
		t.Errorf("shares %v, %v: they would add up to more than the whole", s.Debounce.Share, s.Write.Share)
	}
	r.Mutations.WriteTime.Mean = 0.0300
	observe.AddStages(r, observe.Debounce{})
	s = r.ControlPlane.Stages
	share := 0.0
	for _, x := range append(inTotal(s), s.Unattributed) {
		share += *x.Share
	}
	if math.Abs(s.Unattributed.Mean-0.0096) > 1e-9 || math.Abs(*s.Overlap-0.0024) > 1e-9 || math.Abs(share-1) > 1e-9 {
		t.Errorf("unattributed %v, overlap %v, shares add up to %v; want 0.0096, 0.0024, 1", s.Unattributed.Mean, *s.Overlap, share)
	}
}

func TestQuantileOverTheSlowestDeliveryHasNoUpperEdge(t *testing.T) {
	r, _ := explained(10, observe.Debounce{})
	r.ControlPlane.Metrics.Histograms["pilot_proxy_queue_time"].P99Bucket = in(1, 5)
	observe.AddStages(r, observe.Debounce{})
	if q := r.ControlPlane.Stages.Queue; q.P99Bucket.Low != 0.35 || q.P99Bucket.High != nil {
		t.Errorf("queue: p99 in %v, want over 350 ms", q.P99Bucket)
	}
}

func TestDebounceIsCountedPerMutation(t *testing.T) {
	// Four mutations a push: the first waits 1 s and the last the quiet 100 ms.
	r := &result.Result{
		Mutations:   &result.Mutations{Applied: 40},
		Propagation: &result.Propagation{All: &result.Distribution{Count: 40, Mean: 0.6, P50: 0.6, Max: 1.2}},
		ControlPlane: &observed.ControlPlane{Metrics: &observed.Metrics{Histograms: map[string]*observed.Quantiles{
			"pilot_debounce_time": {Count: 10, Mean: 1, P50: 1, P50Bucket: in(0.5, 1.1)},
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
