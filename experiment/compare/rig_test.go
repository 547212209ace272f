package compare_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/xdsbench/xdsbench/experiment/compare"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// change alters the n-th result of a set.
type change func(r *result.Result, n int)

// measured returns the result of a run in order, whose figures scatter by a few
// percent.
func measured(random *rand.Rand) *result.Result {
	about := func(x float64) float64 { return x * math.Exp(0.04*random.NormFloat64()) }
	times := func(x float64) *result.Distribution {
		return &result.Distribution{Count: 1000, Min: about(x / 2), Mean: about(x), P50: about(x), P90: about(2 * x), P99: about(3 * x), P999: about(4 * x), Max: about(5 * x)}
	}
	stuck, cpu, rss := 0, about(3), int64(about(9e7))
	bytes := int64(about(4e6))
	stage := func(x float64) *observed.Stage { return &observed.Stage{Source: observed.SourceOurs, Mean: about(x)} }
	return &result.Result{
		Schema:  result.Schema,
		Profile: json.RawMessage(`{"name":"test","proxies":{"count":50,"variant":"sotw"},"churn":[{"kind":"pod-delete","rate":"5/s"}]}`),
		Environment: &result.Environment{
			RunID: strconv.FormatUint(random.Uint64(), 16), CPUModel: "Model A", CPUs: 2, Memory: 8e9,
			Versions: map[string]string{"xdsbench": "1"}, TargetEnv: map[string]string{"PATH": "/bin"},
		},
		Proxies:     &result.Proxies{Requested: 50, Connected: 50, Ready: 50},
		Sync:        &result.Sync{TimeToReady: times(0.01)},
		Mutations:   &result.Mutations{Scheduled: 20, Applied: 20, Complete: 20},
		Propagation: &result.Propagation{All: times(0.1), FirstProxy: times(0.09), LastProxy: times(0.12), Expected: 1000, Deliveries: 1000},
		Volume: &result.Volume{
			ByType:    map[string]result.Traffic{"eds": {Responses: int64(about(600)), Bytes: bytes}, "cds": {Responses: int64(about(60)), Bytes: bytes / 3}},
			WireBytes: &result.WireBytes{In: bytes + 1e5},
		},
		Acks:        &result.Acks{Sent: int64(about(700))},
		Convergence: &result.Convergence{StuckWarming: &stuck},
		ControlPlane: &observed.ControlPlane{
			Steady:  &observed.Cost{CPUSeconds: about(2), PeakRSSBytes: rss},
			Stages:  &observed.Stages{Debounce: stage(0.09), Push: stage(0.001), Queue: stage(0.002), Send: stage(1e-4), Total: stage(0.1)},
			Work:    &observed.Work{Pushes: new(int64(about(600)))},
			Signals: &observed.Signals{},
		},
		Harness: &result.Harness{CPUSeconds: &cpu},
	}
}

// set saves n results and loads them as a set.
func set(t *testing.T, seed uint64, n int, changes ...change) *compare.Set {
	t.Helper()
	s, err := compare.Load(save(t, seed, n, changes...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// save saves n results in a folder each.
func save(t *testing.T, seed uint64, n int, changes ...change) string {
	t.Helper()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		r := measured(random)
		for _, change := range changes {
			change(r, i)
		}
		if err := r.Save(filepath.Join(dir, fmt.Sprint("run-", i))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func options() compare.Options {
	return compare.Options{Alpha: compare.DefaultAlpha, Threshold: compare.DefaultThreshold}
}

func compared(t *testing.T, before, after *compare.Set, o compare.Options) *compare.Report {
	t.Helper()
	r, err := compare.Compare(before, after, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// metric returns the comparison of one metric.
func metric(t *testing.T, r *compare.Report, name string) *compare.Metric {
	t.Helper()
	i := slices.IndexFunc(r.Metrics, func(m compare.Metric) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("no metric %s", name)
	}
	return &r.Metrics[i]
}

// regressed lists the metrics that are regressions.
func regressed(r *compare.Report) []string {
	var names []string
	for _, x := range r.Regressions {
		names = append(names, x.Metric)
	}
	return names
}

// slower multiplies the latencies that decide.
func slower(factor float64) change {
	return func(r *result.Result, _ int) {
		r.Propagation.All.P50 *= factor
		r.Propagation.All.P99 *= factor
	}
}
