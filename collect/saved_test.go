package collect_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/rows"
)

func TestSavedResultLoads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	r := newRig(t, 2, "a")
	r.mutate(2, "a")
	r.receive(0, "a", 2)
	r.mutate(0)
	res := r.finish()
	if err := res.Save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := result.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(res, loaded, cmpopts.IgnoreFields(result.Result{}, "MutationRows", "ProxyRows"), cmpopts.EquateEmpty()); diff != "" {
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
	mutations := readCSV(t, filepath.Join(dir, rows.MutationsFile))
	if len(mutations) != 3 {
		t.Fatalf("mutations.csv: %q", mutations)
	}
	for column, want := range map[string]string{
		"seq": "1", "kind": "pod-delete", "service": "ns/svc", "scheduled_offset": "0.000000", "acked": "0.001000",
		"noop": "false", "expected": "2", "delivered": "1", "undelivered": "1", "first": "0.001000", "p99": "0.001000", "last": "0.001000",
	} {
		if got := cell(mutations, 1, column); got != want {
			t.Errorf("mutations.csv, %s = %q, want %q", column, got, want)
		}
	}
	if got := cell(mutations, 2, "noop") + cell(mutations, 2, "first"); got != "true" {
		t.Errorf("no-op mutation: %q, want true and no latency", got)
	}
	proxies := readCSV(t, filepath.Join(dir, rows.ProxiesFile))
	for column, want := range map[string]string{"proxy": "0", "variant": "sotw", "ready": "true", "time_to_ready": "0.050000", "deliveries": "1", "responses": "2", "p99": "0.001000", "max": "0.001000"} {
		if got := cell(proxies, 1, column); got != want {
			t.Errorf("proxies.csv, %s = %q, want %q", column, got, want)
		}
	}
	if err := loaded.Save(dir); err != nil {
		t.Fatal(err)
	}
	if again := readCSV(t, filepath.Join(dir, rows.MutationsFile)); len(again) != 3 {
		t.Errorf("saving a loaded result changed mutations.csv: %q", again)
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	if _, err := result.Load(dir); !errors.Is(err, result.ErrNoResult) {
		t.Errorf("empty folder: %v, want ErrNoResult", err)
	}
	for content, want := range map[string]string{
		`{"schema":"xdsbench/result/v9"}`: `its schema is "xdsbench/result/v9"`,
		`{}`:                              `its schema is ""`,
		`{"schema":`:                      "unexpected end of JSON",
		`{"schema":"xdsbench/result/v1","proxies":"200"}`: "proxies",
	} {
		if err := os.WriteFile(filepath.Join(dir, result.ResultFile), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := result.Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", content, err, want)
		}
	}
}

func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	bad := &result.Result{Profile: []byte("{")}
	good := &result.Result{Schema: result.Schema}
	if err := good.Save(dir); err != nil {
		t.Fatal(err)
	}
	if err := bad.Save(dir); err == nil {
		t.Fatal("saved a broken profile")
	}
	if _, err := result.Load(dir); err != nil {
		t.Errorf("the old result is gone: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("folder holds %v (%v), want the old file alone", entries, err)
	}
}
