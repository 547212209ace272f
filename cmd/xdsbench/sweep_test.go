package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/experiment/sweep"
)

// tinySweep is the command line of a sweep of two runs, a few seconds each.
func tinySweep(dir string, more ...string) []string {
	return append([]string{
		"sweep", "smoke", "-o", dir, "--repeat", "1", "--vary", "target.env.PILOT_DEBOUNCE_AFTER=10ms,300ms",
		"--proxies", "5", "--duration", "2s", "--set", "phases.warmup=0s", "--set", "phases.idle=0s",
	}, more...)
}

func TestSweepResumesAfterAnInterruptAndIsRenderedAgain(t *testing.T) {
	t.Parallel()
	dir := out(t)
	c, output := start(t, tinySweep(dir)...)
	awaitText(t, output, "run 2 of 2")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, c); code != exitInterrupted {
		t.Errorf("exit %d:\n%s", code, output)
	}
	for _, want := range []string{"PARTIAL", "1 of 2 runs finished", "to resume, repeat the command line with -o " + dir} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("no %q in:\n%s", want, output)
		}
	}
	code, stdout, stderr := command(t.Context(), tinySweep(dir, "--format", "json")...)
	var r sweep.Report
	// On a busy machine a run may have no sound result, which is exit code 1.
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != exitDone && code != exitFailed {
		t.Fatalf("exit %d, %v:\n%s", code, err, stderr)
	}
	if strings.Contains(stderr, "run 1 of 2") || !strings.Contains(stderr, "run 2 of 2") {
		t.Errorf("the finished run was made again, or the other was not:\n%s", stderr)
	}
	if r.Partial || len(r.Settings) != 2 {
		t.Errorf("partial %v, %d settings", r.Partial, len(r.Settings))
	}
	for _, o := range r.Settings {
		// The control plane may use less CPU than the 10 ms that Linux counts in.
		if _, ok := o.Figures["controlPlane.steady.cpuSeconds"]; !ok || o.Figures["controlPlane.work.pushes"].Median <= 0 {
			t.Errorf("%s: %+v", o.Name, o.Figures)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := command(t.Context(), "report", "--format", "markdown", dir); code != exitDone || stdout != string(page) {
		t.Errorf("exit %d: the report rendered again differs from the saved one: %s", code, stderr)
	}
	if code, _, stderr := command(t.Context(), tinySweep(dir, "--seed", "9")...); code != exitUsage || !strings.Contains(stderr, "profile.seed: 1, not 9") {
		t.Errorf("another plan: exit %d: %s", code, stderr)
	}
}

func TestSweepNamesEveryBadSettingAndRunsNothing(t *testing.T) {
	dir := out(t)
	code, _, stderr := command(t.Context(), "sweep", "smoke", "-o", dir, "--vary", "proxies.count=5,-1", "--vary", "mesh.services=3,x", "--repeat", "0")
	if code != exitUsage {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"proxies.count: -1", "mesh.services", "--repeat: 0"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in:\n%s", want, stderr)
		}
	}
	for _, args := range [][]string{{"sweep"}, {"sweep", "--vary", "seed=1", "--format", "xml"}, {"sweep", "--vary", "seed"}, {"sweep", "--vary", "seed=1", "--context", "x"}} {
		if code, _, stderr := command(t.Context(), args...); code != exitUsage || stderr == "" {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
}

func TestSweepDryRunListsSettingsAndTime(t *testing.T) {
	dir := out(t)
	code, stdout, stderr := command(t.Context(), "sweep", "smoke", "-o", dir, "--dry-run", "--vary", "proxies.variant=sotw,mixed", "--vary", "rate=1/s,2/s")
	for _, want := range []string{"proxies.variant=sotw rate=1/s\n", "4 settings, 3 runs of each: 12 runs, about"} {
		if code != exitDone || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, no %q in:\n%s%s", code, want, stdout, stderr)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
}
