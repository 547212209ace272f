package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSmokeProfileDeliversEverythingOnTheEmbeddedControlPlane(t *testing.T) {
	dir := out(t)
	code, stdout, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", dir)
	if code != exitDone {
		t.Fatalf("exit %d:\n%s%s", code, stdout, stderr)
	}
	checkSound(t, load(t, dir))
	for _, want := range []string{"undelivered", "diverged", "unknown states"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the summary does not say %q:\n%s", want, stdout)
		}
	}
	for _, file := range []string{"result.json", "mutations.csv", "proxies.csv", "report.md", "latency.hlog", "metrics-before.prom", "metrics-after.prom", "target.log"} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 && file != "target.log" {
			t.Errorf("%s: %v", file, err)
		}
	}
	code, again, stderr := command(t.Context(), "report", dir)
	if code != exitDone || again != stdout {
		t.Errorf("report of the saved result: exit %d, differs from the run's own:\n%s%s", code, again, stderr)
	}
}

func TestSameSeedGivesTheSameSequenceOfMutations(t *testing.T) {
	t.Parallel()
	sequence := func() []string {
		dir := out(t)
		if code, _, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", dir, "--seed", "7", "--duration", "3s"); code != exitDone {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		return planned(t, filepath.Join(dir, "mutations.csv"))
	}
	first, second := sequence(), sequence()
	if len(first) < 5 || !slices.Equal(first, second) {
		t.Errorf("two runs of one seed:\n%s\n\n%s", strings.Join(first, "\n"), strings.Join(second, "\n"))
	}
}

// planned returns what mutations.csv says of each mutation's plan.
func planned(t *testing.T, file string) []string {
	t.Helper()
	rows := readCSV(t, file)
	var columns []int
	for _, name := range []string{"seq", "op", "kind", "step", "service", "object", "scheduled_offset"} {
		i := slices.IndexFunc(rows[0], func(h string) bool { return h == name || name == "scheduled_offset" && h == "intended_offset" })
		if i < 0 {
			t.Fatalf("no column %s in %v", name, rows[0])
		}
		columns = append(columns, i)
	}
	var lines []string
	for _, row := range rows[1:] {
		var fields []string
		for _, i := range columns {
			fields = append(fields, row[i])
		}
		lines = append(lines, strings.Join(fields, ","))
	}
	return lines
}

func TestClustersThatNobodySubscribesToAreNotPassedOverInSilence(t *testing.T) {
	t.Parallel()
	dir := out(t)
	code, stdout, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", dir, "--duration", "1s", "--clusters", "{service}:{port}")
	if code != exitDefects {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	r := load(t, dir)
	if p := r.Propagation; p.Expected == 0 || p.Undelivered != p.Expected || r.Convergence.Diverged != 20 || r.Convergence.MissingClusters == 0 {
		t.Errorf("propagation %+v, convergence %+v", p, r.Convergence)
	}
	if !strings.Contains(stdout, "no proxy subscribed to a cluster that changed") {
		t.Errorf("no cause in:\n%s", stdout)
	}
}

// A control plane that sends half of its clusters first and the rest later gives
// proxies that are ready: the verdict says what they lacked.
func TestHalfAMeshIsADefect(t *testing.T) {
	t.Parallel()
	dir := out(t)
	code, stdout, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", dir, "--duration", "3s",
		"--set", "target.env.XDSBENCH_FAULT_LATE_CLUSTERS=3s")
	if code != exitDefects {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	r := load(t, dir)
	if s := r.Sync; s.IncompleteAtSteady != 20 || s.ClustersLacking == 0 || s.TimeToComplete == nil || s.TimeToComplete.Max < 3 {
		t.Errorf("sync %+v, want 20 incomplete proxies, complete after 3 s", s)
	}
	if !strings.Contains(stdout, "20 proxies were ready, but lacked") {
		t.Errorf("the verdict does not say it:\n%s", stdout)
	}
	if p := r.Propagation; p.Expected != p.Deliveries {
		t.Errorf("%d of %d pairs delivered: those of the late clusters are expected too", p.Deliveries, p.Expected)
	}
}
