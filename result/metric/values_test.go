package metric_test

import (
	"slices"
	"testing"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
	"github.com/xdsbench/xdsbench/result/observed"
)

func TestValuesAgreeWithTheMetricsOfSLOs(t *testing.T) {
	cpu, stuck := 0.0, 0
	r := &result.Result{
		Partial: true,
		Propagation: &result.Propagation{
			All: &result.Distribution{Count: 3, P99: 0.25}, Undelivered: 4,
			Noise: &result.Noise{P50: result.Range{Low: 1, High: 2}},
		},
		Volume: &result.Volume{
			ByType:    map[string]result.Traffic{"eds": {Responses: 2, Bytes: 100}},
			ByVariant: map[string]result.VariantTraffic{"delta": {Traffic: result.Traffic{Bytes: 7}}},
		},
		Convergence: &result.Convergence{StuckWarming: &stuck},
		ControlPlane: &observed.ControlPlane{
			CPUSeconds: &cpu,
			Stages:     &observed.Stages{Push: &observed.Stage{Mean: 0.1, P99Bucket: &observed.Bucket{Low: 0.2}, Share: new(0.5)}},
			Metrics:    &observed.Metrics{Counters: map[string]float64{`pilot_xds_pushes{type="eds",v="1.2"}`: 5}},
		},
	}
	values := metric.Values(r)
	if len(values) < 30 {
		t.Fatalf("%d values", len(values))
	}
	for _, v := range values {
		verdicts, err := metric.Evaluate(r, map[string]string{v.Name: "1e300"})
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		if got := verdicts[0]; got.Value == nil || *got.Value != v.Number || got.Unit != v.Unit {
			t.Errorf("%s: an SLO has %+v, Values has %+v", v.Name, got, v)
		}
	}
	for name, mayOmit := range map[string]bool{"propagation.undelivered": false, "propagation.regressed": true} {
		i := slices.IndexFunc(values, func(v metric.Value) bool { return v.Name == name })
		if i < 0 || values[i].MayOmit != mayOmit {
			t.Errorf("%s: MayOmit must be %t", name, mayOmit)
		}
	}
}

func TestPatternsNameMetrics(t *testing.T) {
	for _, name := range []string{
		"propagation.all.p99", "volume.byType.*.bytes", "volume.byType.eds.bytes",
		"controlPlane.stages.*.mean", "propagation.*", `controlPlane.metrics.counters.x{a="1.2"}`,
	} {
		if !metric.Exists(name) {
			t.Errorf("%q does not pass", name)
		}
	}
	for _, name := range []string{"", "propagation.all.p98", "all.p99", "propagation.all.p99.x"} {
		if metric.Exists(name) {
			t.Errorf("%q passes", name)
		}
	}
	if !metric.Match("volume.byType.*.bytes", "volume.byType.eds.bytes") || metric.Match("volume.byType.*.bytes", "volume.byType.eds.removed") {
		t.Error("a * must stand for one part")
	}
}
