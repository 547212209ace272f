package observe_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

const scrapeBefore = `
# TYPE process_start_time_seconds gauge
process_start_time_seconds 100
# TYPE pilot_xds gauge
pilot_xds{version="1.31"} 10
# TYPE pilot_xds_pushes counter
pilot_xds_pushes{type="eds"} 5
pilot_xds_pushes{type="cds"} 7
# TYPE pilot_proxy_convergence_time histogram
pilot_proxy_convergence_time_bucket{le="0.1"} 10
pilot_proxy_convergence_time_bucket{le="0.5"} 10
pilot_proxy_convergence_time_bucket{le="1"} 10
pilot_proxy_convergence_time_bucket{le="+Inf"} 10
pilot_proxy_convergence_time_sum 0.5
pilot_proxy_convergence_time_count 10
`

const scrapeAfter = `
# TYPE process_start_time_seconds gauge
process_start_time_seconds 100
# TYPE go_threads gauge
go_threads 9
# TYPE pilot_xds gauge
pilot_xds{version="1.31"} 12
pilot_xds{version="1.30"} 3
# TYPE pilot_xds_pushes counter
pilot_xds_pushes{type="eds"} 25
pilot_xds_pushes{type="cds"} 7
pilot_xds_pushes{type="lds"} 2
# TYPE pilot_total_xds_rejects counter
pilot_total_xds_rejects{type="eds",node="n"} 4
# TYPE pilot_xds_push_time histogram
pilot_xds_push_time_bucket{le="1"} 0
pilot_xds_push_time_bucket{le="+Inf"} 2
pilot_xds_push_time_sum 9
pilot_xds_push_time_count 2
# TYPE pilot_proxy_convergence_time histogram
pilot_proxy_convergence_time_bucket{le="0.1"} 60
pilot_proxy_convergence_time_bucket{le="0.5"} 110
pilot_proxy_convergence_time_bucket{le="1"} 110
pilot_proxy_convergence_time_bucket{le="+Inf"} 110
pilot_proxy_convergence_time_sum 20.5
pilot_proxy_convergence_time_count 110
`

func TestMetricsAreDifferences(t *testing.T) {
	m, err := observe.Gained([]byte(scrapeBefore), []byte(scrapeAfter))
	if err != nil {
		t.Fatal(err)
	}
	want := &observed.Metrics{
		Gauges:   map[string]float64{"process_start_time_seconds": 100, `pilot_xds{version="1.31"}`: 12, `pilot_xds{version="1.30"}`: 3},
		Counters: map[string]float64{`pilot_xds_pushes{type="eds"}`: 20, `pilot_xds_pushes{type="lds"}`: 2, `pilot_total_xds_rejects{node="n",type="eds"}`: 4},
		Histograms: map[string]*observed.Quantiles{
			// 50 of 100 up to 0.1, 50 more up to 0.5: the median is the edge, rank 90
			// is 40 of 50 into the second bucket.
			"pilot_proxy_convergence_time": {Count: 100, Mean: 0.2, P50: 0.1, P90: 0.42, P99: 0.492, P50Bucket: &observed.Bucket{High: new(0.1)}, P99Bucket: &observed.Bucket{Low: 0.1, High: new(0.5)}},
			"pilot_xds_push_time":          {Count: 2, Mean: 4.5, P50: 1, P90: 1, P99: 1, P50Bucket: &observed.Bucket{Low: 1}, P99Bucket: &observed.Bucket{Low: 1}},
		},
	}
	if diff := cmp.Diff(want, m, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	r := &result.Result{ControlPlane: &observed.ControlPlane{Metrics: m}}
	observe.AddSignals(r)
	s := r.ControlPlane.Signals
	for name, x := range map[string]struct{ got, want float64 }{
		"latency":  {s.Latency["pilot_proxy_convergence_time.p99"], 0.492},
		"pushes":   {s.Traffic["pilot_xds_pushes"], 22},
		"proxies":  {s.Traffic["pilot_xds"], 15},
		"rejects":  {s.Errors["pilot_total_xds_rejects"], 4},
		"timeouts": {float64(len(s.Errors)), 1},
	} {
		if math.Abs(x.got-x.want) > 1e-9 {
			t.Errorf("%s = %v, want %v", name, x.got, x.want)
		}
	}
}

func TestRestartedControlPlaneCountsFromItsStart(t *testing.T) {
	before := []byte("# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1\n# TYPE x counter\nx 50\n")
	after := []byte("# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 2\n# TYPE x counter\nx 3\n")
	m, err := observe.Gained(before, after)
	if err != nil {
		t.Fatal(err)
	}
	if !m.Restarted || m.Counters["x"] != 3 {
		t.Errorf("metrics = %+v, want a restart and x = 3", m)
	}
}

func TestUnreadableMetricsAreAnError(t *testing.T) {
	if _, err := observe.Gained(nil, []byte("<html>")); err == nil {
		t.Error("no error for a page")
	}
	if _, err := observe.Gained([]byte("{"), nil); err == nil {
		t.Error("no error for a brace")
	}
}
