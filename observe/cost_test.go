package observe_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

const costScrape = `# TYPE go_memstats_alloc_bytes_total counter
go_memstats_alloc_bytes_total 5000
# TYPE pilot_xds_pushes counter
pilot_xds_pushes{type="cds"} 3
pilot_xds_pushes{type="cds_senderr"} 1
# TYPE xds_cache_reads counter
xds_cache_reads{type="hit"} 7
xds_cache_reads{type="miss"} 2
`

func TestFiguresAreWhatTheScrapeGained(t *testing.T) {
	before, err := observe.Parse([]byte("# TYPE go_memstats_alloc_bytes_total counter\ngo_memstats_alloc_bytes_total 1000\n"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := observe.Parse([]byte(costScrape))
	if err != nil {
		t.Fatal(err)
	}
	want := observe.Figures{Allocated: new(4000.0), Pushes: new(3.0), CacheHits: new(7.0), CacheMisses: new(2.0)}
	if diff := cmp.Diff(want, after.Figures().Minus(before.Figures())); diff != "" {
		t.Errorf("gained (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(observe.Figures{}, before.Figures().Minus(after.Figures())); diff != "" {
		t.Errorf("after a restart nothing is known (-want +got):\n%s", diff)
	}
}

func TestCostIsNetOfWhatIdleUses(t *testing.T) {
	pushes := int64(10)
	r := &result.Result{
		Mutations: &result.Mutations{Applied: 5},
		ControlPlane: &observed.ControlPlane{
			Idle:    observed.NewIdle(2, 0.2, new(100.0), new(0.0)),
			Steady:  &observed.Cost{WallSeconds: 10, CPUSeconds: 3},
			Work:    &observed.Work{Pushes: &pushes},
			Metrics: &observed.Metrics{Counters: map[string]float64{"go_memstats_alloc_bytes_total": 1500}},
		},
	}
	observe.AddCost(r)
	s := r.ControlPlane.Steady
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"net CPU", *s.NetCPUSeconds, 2},
		{"net allocations", *s.NetAllocatedBytes, 1000},
		{"net CPU per mutation", *s.NetCPUPerMutation, 0.4},
		{"net allocations per mutation", *s.NetAllocatedPerMutation, 200},
		{"CPU per push", *s.CPUPerPush, 0.3},
		{"net CPU per push", *s.NetCPUPerPush, 0.2},
	} {
		if diff := x.got - x.want; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%s is %v, want %v", x.what, x.got, x.want)
		}
	}
}
