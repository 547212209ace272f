package main

import (
	"encoding/json"
	"math"
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
		"--set", "churn=[{kind: pod-add, rate: 1/s}]", "--set", "target.env.PILOT_DEBOUNCE_AFTER=1ms", "--set", "phases.warmup=0s",
		"--proxies", "20", "--duration", "3s",
	}, more...)
}

// injected is the CPU time that each push costs more in the fault's runs.
const injected = 4e-3

func TestModelRecoversAnInjectedCostPerPushWithinATenth(t *testing.T) {
	plain, costly := out(t), out(t)
	first, outFirst := start(t, rates(plain)...)
	second, outSecond := start(t, rates(costly, "--set", "target.env.XDSBENCH_FAULT_CPU=4ms")...)
	if code := exitCode(t, first); code != exitDone {
		t.Fatalf("exit %d:\n%s", code, outFirst)
	}
	if code := exitCode(t, second); code != exitDone {
		t.Fatalf("exit %d:\n%s", code, outSecond)
	}
	before, after := costPerPush(t, plain), costPerPush(t, costly)
	t.Logf("%.3g ms and %.3g ms per push", 1e3*before, 1e3*after)
	if found := after - before; math.Abs(found-injected) > injected/10 {
		t.Errorf("a push costs %.3g ms, with the fault %.3g ms: injected were 4 ms", 1e3*before, 1e3*after)
	}
	checkAnswer(t, costly)
}

// costPerPush fits the runs in a folder. Doubts about latencies do not matter: the
// CPU and the pushes of a late run are right too.
func costPerPush(t *testing.T, dir string) float64 {
	t.Helper()
	points, err := sizing.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range points {
		points[i].Doubts = nil
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

// checkAnswer looks at the report of a search that ended with its range.
func checkAnswer(t *testing.T, dir string) {
	t.Helper()
	code, stdout, stderr := command(t.Context(), "report", dir, "--format", "json")
	var r capacity.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != exitDone {
		t.Fatalf("exit %d, %v:\n%s", code, err, stderr)
	}
	if r.Answer == nil || r.Answer.Kind != capacity.AtLeast || len(r.Points) < 3 {
		t.Errorf("answer %+v, %d points", r.Answer, len(r.Points))
	}
	code, stdout, stderr = command(t.Context(), "capacity", "--from", dir, "--predict", "proxies=40,rate=8/s", "--replica-cpu", "1", "--replica-memory", "1GiB")
	if code != exitDone || !strings.Contains(stdout, "40 × 10") || !strings.Contains(stdout, "proxies ×2") {
		t.Errorf("exit %d:\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := command(t.Context(), rates(dir, "--seed", "9")...); code != exitUsage || !strings.Contains(stderr, "profile.seed: 1, not 9") {
		t.Errorf("another plan: exit %d: %s", code, stderr)
	}
}

func TestInterruptedCapacitySearchIsPartial(t *testing.T) {
	dir := out(t)
	c, output := start(t, rates(dir, "--duration", "1s")...)
	awaitText(t, output, "run 2: grow rate=4/s in 2..?")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, c); code != exitInterrupted {
		t.Errorf("exit %d:\n%s", code, output)
	}
	if !strings.Contains(output.String(), "PARTIAL  at least rate=2/s (the search was cut short there)") {
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
		"neither --grow nor --from":       {"capacity"},
		"no result":                       {"capacity", "--from", t.TempDir()},
		"no such file":                    {"capacity", "--from", filepath.Join(t.TempDir(), "none")},
		"unknown field \"mesh.serv\"":     {"capacity", "--grow", "mesh.serv=1..2"},
		"--context: needs --kubeconfig":   {"capacity", "--grow", "proxies=1..2", "--context", "x"},
		"is not empty and has no capacit": {"capacity", "--grow", "proxies=1..2", "-o", "."},
	} {
		if code, _, stderr := command(t.Context(), args...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit %d, no %q in:\n%s", args, code, want, stderr)
		}
	}
}
