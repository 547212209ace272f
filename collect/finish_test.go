package collect_test

import (
	"encoding/csv"
	"errors"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
)

func TestConvergenceComparesEveryProxyWithTheMesh(t *testing.T) {
	r := newRig(t, 5, "a", "b")
	r.happen(4, event.Retired)
	stuck := 1
	result := r.Finish(collect.Final{
		Truth: maps.All(map[string][]uint64{"a": {1, 2, 3}, "b": {4}}),
		Held: func(p int) iter.Seq2[string, []uint64] {
			return maps.All([]map[string][]uint64{
				{"a": {3, 2, 1}, "b": {4}, "foreign": {9}},
				{"a": {1, 2, 5, 6}},        // two ghosts, one missing; does not know b
				{"a": {1, 2, 3}, "b": nil}, // nothing arrived
				{"a": {1, 1, 2, 3}},        // one too many; does not know b
				{"a": nil},                 // retired: not compared
			}[p])
		},
		StuckWarming: &stuck,
	})
	want := &collect.Convergence{
		Diverged: 3, GhostEndpoints: 3, MissingEndpoints: 2, MissingClusters: 2, StuckWarming: &stuck,
		Examples: []collect.Divergence{
			{Proxy: 1, Cluster: "a", Ghosts: 2, Missing: 1},
			{Proxy: 2, Cluster: "b", Missing: 1},
			{Proxy: 3, Cluster: "a", Ghosts: 1},
		},
	}
	if diff := cmp.Diff(want, result.Convergence); diff != "" {
		t.Errorf("convergence (-want +got):\n%s", diff)
	}
}

func TestSavedResultLoads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	r := newRig(t, 2, "a")
	r.mutate(2, "a")
	r.receive(0, "a", 2)
	r.mutate(0)
	result := r.finish()
	if err := result.Save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := collect.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(result, loaded, cmpopts.IgnoreFields(collect.Result{}, "MutationRows", "ProxyRows"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("saved and loaded differ:\n%s", diff)
	}
	h, err := loaded.Propagation.All.Decode()
	if err != nil || h.TotalCount() != 1 {
		t.Errorf("histogram: %v, %v", h, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("folder holds %v (%v), want three files and nothing temporary", entries, err)
	}
	mutations := readCSV(t, filepath.Join(dir, collect.MutationsFile))
	if len(mutations) != 3 {
		t.Fatalf("mutations.csv: %q", mutations)
	}
	for column, want := range map[string]string{
		"seq": "1", "kind": "pod-delete", "service": "ns/svc", "intended_offset": "0.000000", "acked": "0.001000",
		"silent": "false", "expected": "2", "delivered": "1", "unreached": "1", "first": "0.001000", "p99": "0.001000", "last": "0.001000",
	} {
		if got := cell(mutations, 1, column); got != want {
			t.Errorf("mutations.csv, %s = %q, want %q", column, got, want)
		}
	}
	if got := cell(mutations, 2, "silent") + cell(mutations, 2, "first"); got != "true" {
		t.Errorf("silent mutation: %q, want true and no latency", got)
	}
	proxies := readCSV(t, filepath.Join(dir, collect.ProxiesFile))
	for column, want := range map[string]string{"proxy": "0", "variant": "sotw", "ready": "true", "time_to_ready": "0.050000", "deliveries": "1", "responses": "2", "p99": "0.001000", "max": "0.001000"} {
		if got := cell(proxies, 1, column); got != want {
			t.Errorf("proxies.csv, %s = %q, want %q", column, got, want)
		}
	}
	if err := loaded.Save(dir); err != nil {
		t.Fatal(err)
	}
	if again := readCSV(t, filepath.Join(dir, collect.MutationsFile)); len(again) != 3 {
		t.Errorf("saving a loaded result changed mutations.csv: %q", again)
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

func TestLoadSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	if _, err := collect.Load(dir); !errors.Is(err, collect.ErrNoResult) {
		t.Errorf("empty folder: %v, want ErrNoResult", err)
	}
	for content, want := range map[string]string{
		`{"schema":"xdsbench/result/v9"}`: `its schema is "xdsbench/result/v9"`,
		`{}`:                              `its schema is ""`,
		`{"schema":`:                      "unexpected end of JSON",
		`{"schema":"xdsbench/result/v1","proxies":"200"}`: "proxies",
	} {
		if err := os.WriteFile(filepath.Join(dir, collect.ResultFile), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := collect.Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", content, err, want)
		}
	}
}

func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	bad := &collect.Result{Profile: []byte("{")}
	good := &collect.Result{Schema: collect.Schema}
	if err := good.Save(dir); err != nil {
		t.Fatal(err)
	}
	if err := bad.Save(dir); err == nil {
		t.Fatal("saved a broken profile")
	}
	if _, err := collect.Load(dir); err != nil {
		t.Errorf("the old result is gone: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("folder holds %v (%v), want the old file alone", entries, err)
	}
}

func TestSelfMeterMeasuresThisProcess(t *testing.T) {
	m := collect.StartSelfMeter()
	runtime.GC()
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
	}
	var h collect.Harness
	if err := m.Stop(&h, nil); err != nil {
		t.Fatal(err)
	}
	if *h.WallSeconds < 0.05 || *h.CPUSeconds <= 0 || *h.PeakRSSBytes < 1<<20 || *h.GCPauseMax <= 0 || h.GOMAXPROCS < 1 {
		t.Errorf("wall %v, CPU %v, RSS %v, pause %v", *h.WallSeconds, *h.CPUSeconds, *h.PeakRSSBytes, *h.GCPauseMax)
	}
}

func TestHostIsDescribed(t *testing.T) {
	e, err := collect.Host()
	if err != nil {
		t.Logf("incomplete: %v", err)
	}
	if e.CPUs < 1 || e.GOMAXPROCS < 1 || e.OS == "" || e.Versions["go"] == "" {
		t.Errorf("environment = %+v", e)
	}
}
