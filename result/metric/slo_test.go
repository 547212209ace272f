package metric_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
	"github.com/xdsbench/xdsbench/result/observed"
)

func TestSLOsAreEvaluated(t *testing.T) {
	rss := int64(50e6)
	r := &result.Result{
		Proxies:     &result.Proxies{Ready: 990, Requested: 1000},
		Propagation: &result.Propagation{All: &result.Distribution{Count: 3, P99: 1.5}, Undelivered: 2},
		Volume: &result.Volume{
			ByType:    map[string]result.Traffic{"eds": {Bytes: 9e6}},
			ByVariant: map[string]result.VariantTraffic{"sotw": {Traffic: result.Traffic{Responses: 7}}},
		},
		ControlPlane: &observed.ControlPlane{
			PeakRSSBytes: &rss,
			Metrics:      &observed.Metrics{Counters: map[string]float64{`rejects{type="a.b"}`: 3}},
		},
		Harness: &result.Harness{Saturated: true},
	}
	for _, x := range []struct {
		metric, limit string
		pass          bool
		value         float64
	}{
		{"propagation.all.p99", "2s", true, 1.5},
		{"propagation.all.p99", "1500ms", true, 1.5},
		{"propagation.all.p99", "1.4", false, 1.5},
		{"propagation.all.count", ">= 3", true, 3},
		{"propagation.undelivered", "0", false, 2},
		{"proxies.ready", ">=1000", false, 990},
		{"proxies.ready", "<= 990", true, 990},
		{"volume.byType.eds.bytes", "9MB", true, 9e6},
		{"volume.byType.eds.bytes", "8.5MiB", false, 9e6},
		{"volume.byVariant.sotw.responses", "7", true, 7},
		{"controlPlane.peakRSSBytes", "1GiB", true, 50e6},
		{`controlPlane.metrics.counters.rejects{type="a.b"}`, "3", true, 3},
		{"harness.saturated", "0", false, 1},
	} {
		got, err := metric.Evaluate(r, map[string]string{x.metric: x.limit})
		if err != nil {
			t.Errorf("%s: %v", x.metric, err)
			continue
		}
		if v := got[0]; v.Pass != x.pass || v.Value == nil || *v.Value != x.value {
			t.Errorf("%s limited to %s: %+v, want pass %v with %v", x.metric, x.limit, v, x.pass, x.value)
		}
	}
}

func TestSLOOnAQuantileOfTooFewSamplesSaysSo(t *testing.T) {
	r := &result.Result{
		Propagation: &result.Propagation{
			All: &result.Distribution{Count: 100, P99: 1}, LastProxy: &result.Distribution{Count: 60, P90: 1, P99: 2, Max: 2},
		},
		ControlPlane: &observed.ControlPlane{Stages: &observed.Stages{Queue: &observed.Stage{Count: 20, P99: new(1.0)}}},
	}
	for name, note := range map[string]string{
		"propagation.all.p99": "", "propagation.lastProxy.p99": "max of 60", "propagation.lastProxy.p90": "",
		"propagation.lastProxy.max": "", "controlPlane.stages.queue.p99": "max of 20",
	} {
		got, err := metric.Evaluate(r, map[string]string{name: "3s"})
		if err != nil || got[0].Note != note || !got[0].Pass {
			t.Errorf("%s: %+v, error %v; want the note %q", name, got, err, note)
		}
	}
}

func TestUnmeasuredSLOIsMissed(t *testing.T) {
	slo := map[string]string{"propagation.all.p99": "2s", "convergence.stuckWarming": "0", "volume.byType.eds.bytes": "1MB"}
	got, err := metric.Evaluate(&result.Result{Convergence: &result.Convergence{}, Volume: &result.Volume{}}, slo)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || !slices.IsSortedFunc(got, func(a, b result.SLO) int { return strings.Compare(a.Metric, b.Metric) }) {
		t.Fatalf("verdicts = %+v, want three in order", got)
	}
	for _, v := range got {
		if v.Pass || v.Value != nil {
			t.Errorf("%s: %+v, want missed and without a value", v.Metric, v)
		}
	}
}

func TestInvalidSLOsAreAllListed(t *testing.T) {
	slo := map[string]string{
		"propagation.p99":           "2s",       // no such metric
		"propagation.all":           "2s",       // not a number
		"propagation.all.p99.x":     "2s",       // too deep
		"propagation.undelivered":   "2s",       // a count is no time
		"propagation.all.max":       "10MB",     // a time is no size
		"controlPlane.cpuSeconds":   "soon",     // no number
		"volume.wireBytes.in":       "1 minute", // no size
		"propagation.all.p50":       "NaN",
		"propagation.lastProxy.p99": "2s", // right
	}
	err := metric.Validate(slo)
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 8 {
		t.Errorf("%d lines, want 8:\n%v", len(lines), err)
	}
	for _, want := range []string{"slo.propagation.p99: ", "propagation.lastProxy.p99, ", "want a duration such as", "want a size such as", "want a number"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	if _, err := metric.Evaluate(&result.Result{}, slo); err == nil {
		t.Error("evaluated all the same")
	}
}

func TestMetricNamesAreTheResultsNumbers(t *testing.T) {
	names := metric.Names()
	for _, want := range []string{
		"propagation.all.p99", "propagation.undelivered", "sync.configBytesPerProxy.max", "volume.byType.*.bytes",
		"volume.byVariant.*.byType.*.responses", "controlPlane.metrics.histograms.*.p99", "harness.saturated",
		"convergence.staleEndpoints", "sync.volume.wireBytes.out", "acks.nackLoopRate",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, name := range names {
		if strings.Contains(name, "..") || strings.Contains(name, "warnings") || strings.Contains(name, "istogram.") {
			t.Errorf("%s is no metric", name)
		}
		if err := metric.Validate(map[string]string{strings.ReplaceAll(name, "*", "x"): "1"}); err != nil {
			t.Errorf("%s is listed but not valid: %v", name, err)
		}
	}
}
