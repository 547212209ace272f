package collect_test

import (
	"encoding/csv"
	"errors"
	"iter"
	"maps"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/result"
)

func TestConvergenceComparesEveryProxyWithTheMesh(t *testing.T) {
	r := newRig(t, 5, "a", "b")
	r.happen(4, event.Retired)
	stuck := 1
	res := r.Finish(collect.Final{
		Truth: maps.All(map[string][]uint64{"a": {1, 2, 3}, "b": {4}}),
		Held: func(p int) iter.Seq2[string, []uint64] {
			return maps.All([]map[string][]uint64{
				{"a": {3, 2, 1}, "b": {4}, "foreign": {9}},
				{"a": {1, 2, 5, 6}},        // two stale, one missing; does not know b
				{"a": {1, 2, 3}, "b": nil}, // nothing arrived
				{"a": {1, 1, 2, 3}},        // one too many; does not know b
				{"a": nil},                 // retired: not compared
			}[p])
		},
		StuckWarming: &stuck,
	})
	want := &result.Convergence{
		Diverged: 3, StaleEndpoints: 3, MissingEndpoints: 2, MissingClusters: 2, StuckWarming: &stuck,
		Examples: []result.Divergence{
			{Proxy: 1, Cluster: "a", Stale: 2, Missing: 1},
			{Proxy: 2, Cluster: "b", Missing: 1},
			{Proxy: 3, Cluster: "a", Stale: 1},
		},
	}
	if diff := cmp.Diff(want, res.Convergence); diff != "" {
		t.Errorf("convergence (-want +got):\n%s", diff)
	}
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(f).ReadAll()
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return rows
}

func cell(rows [][]string, row int, column string) string {
	for i, name := range rows[0] {
		if name == column {
			return rows[row][i]
		}
	}
	return "no such column"
}
