package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/result"
)

// savedRun is a run that the last version with schema v1 saved:
// xdsbench run smoke --seed 7.
var savedRun = filepath.Join("..", "..", "result", "testdata", "v1", "run")

// counts are what a seed decides, times and what depends on them left out.
func countsOf(r *result.Result) map[string]int64 {
	m, p, c := r.Mutations, r.Propagation, r.Convergence
	counts := map[string]int64{
		"scheduled": int64(m.Scheduled), "applied": int64(m.Applied), "noop": int64(m.Noop),
		"complete": int64(m.Complete), "incomplete": int64(m.Incomplete), "failed": int64(m.Failed),
		"expected": p.Expected, "deliveries": p.Deliveries, "undelivered": p.Undelivered,
		"interrupted": p.Interrupted, "retired": p.Retired, "unknown states": p.UnknownStates,
		"diverged": int64(c.Diverged), "stale": c.StaleEndpoints, "missing": c.MissingEndpoints,
		"ready": int64(r.Proxies.Ready), "invalid": r.Acks.NacksInvalid,
		"samples": p.All.Count, "first": p.FirstProxy.Count, "last": p.LastProxy.Count,
	}
	for kind, n := range m.ByKind {
		counts["kind "+kind] = int64(n)
	}
	return counts
}

func TestASeedGivesWhatTheVersionBeforeMeasured(t *testing.T) {
	t.Parallel()
	dir := out(t)
	if code, stdout, stderr := command(t.Context(), "run", "smoke", "--quiet", "--seed", "7", "-o", dir); code != exitDone {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	before, now := countsOf(load(t, savedRun)), countsOf(load(t, dir))
	for name, want := range before {
		if now[name] != want {
			t.Errorf("%s: %d, the version before had %d", name, now[name], want)
		}
	}
	was, is := planned(t, filepath.Join(savedRun, "mutations.csv")), planned(t, filepath.Join(dir, "mutations.csv"))
	if !slices.Equal(was, is) {
		t.Errorf("the sequence of mutations is another one:\n%s\n\n%s", strings.Join(was, "\n"), strings.Join(is, "\n"))
	}
}

func TestAResultOfTheVersionBeforeRenders(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := command(t.Context(), "report", savedRun)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"PASSED", "38 of 38 applied", "11 no-op", "expected 540: delivered 540 (coalesced 20)", "103 ms"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}
