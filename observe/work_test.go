package observe_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

func TestWorkIsWhatTheMetricsCount(t *testing.T) {
	t.Parallel()
	convergence := &observed.Quantiles{Count: 9, P99: 2}
	metrics := func(restarted bool) *observed.Metrics {
		return &observed.Metrics{
			Restarted:  restarted,
			Counters:   map[string]float64{`pilot_xds_pushes{type="eds"}`: 90, `pilot_xds_pushes{type="cds"}`: 10, `pilot_xds_pushes{type="eds_senderr"}`: 5},
			Histograms: map[string]*observed.Quantiles{"pilot_debounce_time": {Count: 4}, "pilot_proxy_convergence_time": convergence},
		}
	}
	for name, c := range map[string]struct {
		metrics *observed.Metrics
		want    *observed.Work
	}{
		"all":       {metrics(false), &observed.Work{Pushes: new(int64(100)), DebounceRounds: new(int64(4)), ConvergenceTime: convergence}},
		"restarted": {metrics(true), &observed.Work{ConvergenceTime: convergence}},
		"none":      {nil, nil},
		"other":     {&observed.Metrics{Counters: map[string]float64{"pilot_xds_pushes_total": 1}}, nil},
		"no pushes": {&observed.Metrics{Counters: map[string]float64{`pilot_xds_pushes{type="eds_senderr"}`: 1}}, nil},
	} {
		r := &result.Result{ControlPlane: &observed.ControlPlane{Metrics: c.metrics}}
		observe.AddWork(r)
		if diff := cmp.Diff(c.want, r.ControlPlane.Work); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	observe.AddWork(&result.Result{}) // there may have been none to observe
}
