package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/experiment/anatomy"
)

// tinyAnatomy is the command line of an anatomy of some kinds, each made once.
func tinyAnatomy(dir, kinds string, more ...string) []string {
	return append([]string{
		"anatomy", "--kinds", kinds, "--repeat", "1", "-o", dir, "--set", "mesh.services=8", "--proxies", "4", "--set", "phases.warmup=0s",
	}, more...)
}

func TestAnatomySaysWhatEachKindOfChangeCaused(t *testing.T) {
	dir := out(t)
	code, stdout, stderr := command(t.Context(), tinyAnatomy(dir, "pod-add,noop-update,service-add", "--format", "json")...)
	var a anatomy.Anatomy
	if err := json.Unmarshal([]byte(stdout), &a); err != nil || code != exitDone {
		t.Fatalf("exit %d, %v:\n%s", code, err, stderr)
	}
	if len(a.Kinds) != 3 {
		t.Fatalf("kinds %+v", a.Kinds)
	}
	for _, variant := range []string{"sotw", "delta"} {
		added, noop, service := a.Kinds[0].ByVariant[variant], a.Kinds[1].ByVariant[variant], a.Kinds[2].ByVariant[variant]
		if len(added.Types) != 1 || added.Types["eds"].Responses != 2 || added.FullShare != 0 || added.ProxiesReached != 2 {
			t.Errorf("pod-add at %s: %+v, want one EDS response at each of 2 proxies", variant, added)
		}
		if len(noop.Types) != 0 {
			t.Errorf("noop-update at %s: %+v, want nothing", variant, noop)
		}
		if service.Types["cds"].Responses == 0 || service.FullShare == 0 {
			t.Errorf("service-add at %s: %+v, want a full push", variant, service)
		}
	}
	costs := 0 // a scrape that comes late, on a busy machine, leaves a kind without
	for _, k := range a.Kinds {
		if k.Undelivered > 0 {
			t.Errorf("%s: undelivered %d", k.Name, k.Undelivered)
		}
		if k.Cost != nil && k.Cost.NetCPUSeconds != nil {
			costs++
		}
	}
	if costs == 0 {
		t.Error("no kind has its cost")
	}
	page, err := os.ReadFile(filepath.Join(dir, "anatomy.md"))
	if err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := command(t.Context(), "report", "--format", "markdown", dir); code != exitDone || !strings.Contains(stdout, string(page[:200])) {
		t.Errorf("exit %d: the report rendered again differs from the saved one: %s", code, stderr)
	}
	if code, stdout, stderr := command(t.Context(), "compare", dir, dir); code != exitDone || !strings.Contains(stdout, "ALIKE") {
		t.Errorf("exit %d: an anatomy differs from itself:\n%s%s", code, stdout, stderr)
	}
}

func TestInterruptedAnatomyKeepsTheKindsMade(t *testing.T) {
	t.Parallel()
	dir := out(t)
	c, output := start(t, tinyAnatomy(dir, "pod-add,pod-delete,scale-up,scale-down,noop-update,pod-crash", "--repeat", "3")...)
	awaitText(t, output, "pod-delete: ")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, c); code != exitInterrupted {
		t.Errorf("exit %d:\n%s", code, output)
	}
	a, err := anatomy.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !a.Partial || len(a.Kinds) == 0 || len(a.Kinds) == 6 {
		t.Errorf("partial %v with %d of 6 kinds", a.Partial, len(a.Kinds))
	}
}

func TestAnatomyRefusesWhatItCannotMakeBeforeAnythingStarts(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{tinyAnatomy(out(t), "pod-ad"), `"pod-ad"`},
		{tinyAnatomy(out(t), "pod-add", "--repeat", "0"), "repeat: 0"},
		{tinyAnatomy(t.TempDir(), "pod-add"), "already exists"},
	} {
		if code, _, stderr := command(t.Context(), c.args...); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d, %s", c.args, code, stderr)
		}
	}
}
