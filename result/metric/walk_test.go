package metric_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
	"github.com/xdsbench/xdsbench/result/observed"
)

// fill gives every number below v a value of its own, every pointer something to
// point to, and every map the key "k.k".
func fill(v reflect.Value, next *int64) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element, next)
		v.SetMapIndex(reflect.ValueOf("k.k"), element)
	case reflect.Struct:
		for _, inner := range v.Fields() {
			if inner.CanSet() {
				fill(inner, next)
			}
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		*next++
		v.SetInt(*next)
	case reflect.Float64:
		*next++
		v.SetFloat(float64(*next) + 0.5)
	default:
	}
}

// inJSON lists the numbers of a JSON document by their paths, but those in lists.
func inJSON(node any, path string, found map[string]float64) {
	switch n := node.(type) {
	case map[string]any:
		for key, child := range n {
			inJSON(child, strings.TrimPrefix(path+"."+key, "."), found)
		}
	case float64:
		found[path] = n
	case bool:
		found[path] = 0
		if n {
			found[path] = 1
		}
	}
}

func TestValuesAreTheNumbersOfTheFileUnderItsNames(t *testing.T) {
	t.Parallel()
	r, n := &result.Result{}, int64(0)
	fill(reflect.ValueOf(r).Elem(), &n)
	r.MutationRows, r.ProxyRows, r.TimelineRows, r.Profile = nil, nil, nil, json.RawMessage(`{"seed": 3}`)
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	delete(tree, "profile") // not ours to judge
	want, got := make(map[string]float64), make(map[string]float64)
	inJSON(tree, "", want)
	for _, v := range metric.Values(r) {
		got[v.Name] = v.Number
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 200 {
		t.Errorf("%d values; file against values:\n%s", len(got), diff)
	}
}

func TestAWholeResultHasEveryMetricWithTheUnitOfItsSLO(t *testing.T) {
	t.Parallel()
	r, n := &result.Result{}, int64(0)
	fill(reflect.ValueOf(r).Elem(), &n)
	slo := make(map[string]string)
	units := make(map[string]string)
	var names []string
	for _, v := range metric.Values(r) {
		names = append(names, strings.ReplaceAll(v.Name, "k.k", "*"))
		// A map of structs takes its keys without dots in the limits of SLOs.
		if metric.Validate(map[string]string{v.Name: "0"}) == nil {
			slo[v.Name], units[v.Name] = "1e300", v.Unit
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(metric.Names(), names); diff != "" {
		t.Errorf("metrics of SLOs against those of a result:\n%s", diff)
	}
	verdicts, err := metric.Evaluate(r, slo)
	if err != nil || len(verdicts) < 150 {
		t.Fatalf("%d verdicts, %v", len(verdicts), err)
	}
	for _, v := range verdicts {
		if v.Value == nil || !v.Pass || v.Unit != units[v.Metric] {
			t.Errorf("%+v, want a value in %q", v, units[v.Metric])
		}
	}
}

func TestWhatAResultLacksHasNoValueAndZeroHasOne(t *testing.T) {
	t.Parallel()
	cpu, stuck := 0.0, 0
	r := &result.Result{
		Partial:     true,
		Propagation: &result.Propagation{Noise: &result.Noise{P50: result.Range{High: 2}}},
		Convergence: &result.Convergence{StuckWarming: &stuck},
		ControlPlane: &observed.ControlPlane{
			CPUSeconds: &cpu,
			Stages:     &observed.Stages{Push: &observed.Stage{P99Bucket: &observed.Bucket{Low: 0.2}, Share: new(0.5)}},
			Metrics:    &observed.Metrics{Counters: map[string]float64{`pushes{type="eds",v="1.2"}`: 5}},
		},
	}
	values := make(map[string]metric.Value)
	for _, v := range metric.Values(r) {
		values[v.Name] = v
	}
	for name, want := range map[string]metric.Value{
		"partial":                                                  {Number: 1},
		"propagation.noise.p50.high":                               {Number: 2, Unit: "s"},
		"propagation.undelivered":                                  {},
		"propagation.regressed":                                    {MayOmit: true},
		"convergence.stuckWarming":                                 {},
		"controlPlane.cpuSeconds":                                  {Unit: "s"},
		"controlPlane.stages.push.share":                           {Number: 0.5},
		"controlPlane.stages.push.p99Bucket.low":                   {Number: 0.2, Unit: "s"},
		"controlPlane.stages.push.count":                           {MayOmit: true},
		`controlPlane.metrics.counters.pushes{type="eds",v="1.2"}`: {Number: 5},
	} {
		want.Name = name
		if diff := cmp.Diff(want, values[name]); diff != "" {
			t.Error(diff)
		}
	}
	for name := range values {
		if strings.HasPrefix(name, "propagation.all.") || strings.HasPrefix(name, "harness.") {
			t.Errorf("%s has a value, though the result does not have it", name)
		}
	}
}

func TestPatternsNameMetrics(t *testing.T) {
	t.Parallel()
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
