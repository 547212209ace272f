package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/experiment/capacity"
	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
)

// rates is the command line of a search over the rate of mutations that no SLO
// ends: one run of a few seconds at 2, 4 and 8 mutations per second, each of which
// is pushed by itself.
func rates(dir string, more ...string) []string {
	return append([]string{
		"capacity", "smoke", "-o", dir, "--grow", "rate=2/s..8/s", "--soak", "0", "--tolerance", "99%", "--slo", "propagation.all.p99=60s",
		"--set", "churn=[{kind: pod-add, rate: 1/s}]", "--set", "target.env.PILOT_DEBOUNCE_AFTER=1ms", "--set", "phases.warmup=0s", "--set", "phases.idle=0s",
		"--proxies", "20", "--duration", "3s",
	}, more...)
}

// injected is the CPU time that each push costs more in the fault's runs.
const injected = 4e-3

// The runs are made one by one: a search would end early on a machine so busy that
// the harness is the bottleneck of some.
//
// What a push costs of its own grows on a busy machine, by half a millisecond and more
// where processors share a core; on an idle one the model is within a tenth.
func TestModelRecoversAnInjectedCostPerPush(t *testing.T) {
	plain, costly := t.TempDir(), t.TempDir()
	for _, rate := range []string{"2/s", "4/s", "8/s"} {
		first := measure(t, plain, rate)
		second := measure(t, costly, rate, "--set", "target.env.XDSBENCH_FAULT_CPU=4ms")
		first()
		second()
	}
	before, after := costPerPush(t, plain), costPerPush(t, costly)
	t.Logf("%.3g ms and %.3g ms per push", 1e3*before, 1e3*after)
	if found := after - before; found < 0.9*injected || found > 1.4*injected {
		t.Errorf("a push costs %.3g ms, with the fault %.3g ms: injected were 4 ms", 1e3*before, 1e3*after)
	}
}

// measure begins one run of a few seconds; the result waits for its end.
func measure(t *testing.T, dir, rate string, more ...string) (wait func()) {
	t.Helper()
	c, output := start(t, append([]string{
		"run", "smoke", "-o", filepath.Join(dir, strings.ReplaceAll(rate, "/", "-")), "--rate", rate,
		"--set", "churn=[{kind: pod-add, rate: 1/s}]", "--set", "target.env.PILOT_DEBOUNCE_AFTER=1ms", "--set", "phases.warmup=0s", "--set", "phases.idle=0s",
		"--allow-defects", "--proxies", "20", "--duration", "3s",
	}, more...)...)
	return func() {
		t.Helper()
		if code := exitCode(t, c); code != exitDone {
			t.Fatalf("exit %d:\n%s", code, output)
		}
	}
}

// costPerPush fits the runs in a folder. That latencies are questionable does not matter: the
// CPU and the pushes of a late run are right too.
func costPerPush(t *testing.T, dir string) float64 {
	t.Helper()
	points, err := sizing.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range points {
		points[i].Questionable = nil
	}
	m := sizing.NewModel(points)
	if m.CPU == nil {
		t.Fatalf("no fit: %q", m.Notes)
	}
	for _, c := range m.CPU.Coefficients {
		if c.Term == "per push" {
			return c.Value
		}
	}
	return 0
}

// On a busy machine the harness may be the bottleneck of the smallest load: then the
// search has no answer, and says so.
func TestCapacitySearchIsReportedAgainAndHeldToItsPlan(t *testing.T) {
	t.Parallel()
	dir := out(t)
	c, output := start(t, rates(dir, "--duration", "1s")...)
	if code := exitCode(t, c); code != exitDone && code != exitFailed {
		t.Fatalf("exit %d:\n%s", code, output)
	}
	code, stdout, stderr := command(t.Context(), "report", dir, "--format", "json")
	var r capacity.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != exitDone {
		t.Fatalf("exit %d, %v:\n%s", code, err, stderr)
	}
	if r.Answer == nil || r.Answer.Kind != "at least" && r.Answer.Kind != "unknown" || len(r.Points) < 2 {
		t.Errorf("answer %+v, %d points", r.Answer, len(r.Points))
	}
	code, stdout, stderr = command(t.Context(), "capacity", "--from", dir, "--predict", "proxies=40,rate=8/s", "--replica-cpu", "1", "--replica-memory", "1GiB")
	if code != exitDone || !strings.Contains(stdout, "40 × 10") {
		t.Errorf("exit %d:\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := command(t.Context(), rates(dir, "--seed", "9")...); code != exitUsage || !strings.Contains(stderr, "profile.seed: 1, not 9") {
		t.Errorf("another plan: exit %d: %s", code, stderr)
	}
}

func TestInterruptedCapacitySearchIsPartial(t *testing.T) {
	t.Parallel()
	dir := out(t)
	c, output := start(t, rates(dir, "--duration", "1s")...)
	awaitText(t, output, "run 2: grow")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, c); code != exitInterrupted {
		t.Errorf("exit %d:\n%s", code, output)
	}
	if text := output.String(); !strings.Contains(text, "PARTIAL  smoke: at least rate=2/s (the search was interrupted there)") &&
		!strings.Contains(text, "PARTIAL  smoke: no load was measured to the end") { // the first run failed
		t.Errorf("output:\n%s", output)
	}
	if r, err := capacity.Load(dir); err != nil || !r.Partial {
		t.Errorf("report: %v", err)
	}
}

func TestCapacityListsEveryProblemOfItsCommandLine(t *testing.T) {
	code, _, stderr := command(t.Context(), "capacity", "--grow", "proxies=9..1", "--slo", "latency=1s", "--step", "1", "--tolerance", "x",
		"--repeat", "0", "--soak", "long", "--predict", "speed=3", "--sizes", "big", "--replica-cpu", "-1", "--replica-memory", "lots", "--format", "pdf")
	for _, want := range []string{
		"FROM (9) is above TO (1)", `"latency" is not a metric`, "--step: 1:", `--tolerance: "x"`, "--repeat: 0", `--soak: "long"`,
		`"speed" is not a key`, `--sizes "big"`, "--replica-cpu: -1", `--replica-memory: "lots"`, `--format: "pdf"`,
	} {
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("exit %d, no %q in:\n%s", code, want, stderr)
		}
	}
	for want, args := range map[string][]string{
		"neither --grow nor --from": {"capacity"},
		"no result":                 {"capacity", "--from", t.TempDir()},
		"no such file":              {"capacity", "--from", filepath.Join(t.TempDir(), "none")},
		"mesh.serv: unknown field: did you mean mesh.services?": {"capacity", "--grow", "mesh.serv=1..2"},
		"--context: needs --kubeconfig":                         {"capacity", "--grow", "proxies=1..2", "--context", "x"},
		"is not empty and has no capacit":                       {"capacity", "--grow", "proxies=1..2", "-o", "."},
	} {
		if code, _, stderr := command(t.Context(), args...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit %d, no %q in:\n%s", args, code, want, stderr)
		}
	}
}
