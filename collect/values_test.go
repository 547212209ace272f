package collect_test

import (
	"slices"
	"testing"

	"github.com/xdsbench/xdsbench/collect"
)

func TestValuesAgreeWithTheMetricsOfSLOs(t *testing.T) {
	cpu, stuck := 0.0, 0
	r := &collect.Result{
		Partial: true,
		Propagation: &collect.Propagation{
			All: &collect.Distribution{Count: 3, P99: 0.25}, Unreached: 4,
			Noise: &collect.Noise{P50: collect.Range{Low: 1, High: 2}},
		},
		Volume: &collect.Volume{
			ByType:    map[string]collect.Traffic{"eds": {Responses: 2, Bytes: 100}},
			ByVariant: map[string]collect.VariantTraffic{"delta": {Traffic: collect.Traffic{Bytes: 7}}},
		},
		Convergence: &collect.Convergence{StuckWarming: &stuck},
		ControlPlane: &collect.ControlPlane{
			CPUSeconds: &cpu,
			Stages:     &collect.Stages{Push: &collect.Stage{Mean: 0.1, Beyond: true, Share: 0.5}},
			Metrics:    &collect.Metrics{Counters: map[string]float64{`pilot_xds_pushes{type="eds",v="1.2"}`: 5}},
		},
	}
	values := r.Values()
	if len(values) < 30 {
		t.Fatalf("%d values", len(values))
	}
	for _, v := range values {
		verdicts, err := collect.EvaluateSLO(r, map[string]string{v.Name: "1e300"})
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		if got := verdicts[0]; got.Value == nil || *got.Value != v.Number || got.Unit != v.Unit {
			t.Errorf("%s: an SLO has %+v, Values has %+v", v.Name, got, v)
		}
	}
	for name, mayOmit := range map[string]bool{"propagation.unreached": false, "propagation.regressed": true} {
		i := slices.IndexFunc(values, func(v collect.Value) bool { return v.Name == name })
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
		if !collect.IsMetric(name) {
			t.Errorf("%q does not pass", name)
		}
	}
	for _, name := range []string{"", "propagation.all.p98", "all.p99", "propagation.all.p99.x"} {
		if collect.IsMetric(name) {
			t.Errorf("%q passes", name)
		}
	}
	if !collect.MatchMetric("volume.byType.*.bytes", "volume.byType.eds.bytes") || collect.MatchMetric("volume.byType.*.bytes", "volume.byType.eds.removed") {
		t.Error("a * must stand for one part")
	}
}
