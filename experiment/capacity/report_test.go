package capacity_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/experiment/capacity"
	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
	"github.com/xdsbench/xdsbench/result"
)

func TestReportPredictsFromTheSearchsRuns(t *testing.T) {
	t.Parallel()
	f := &fake{Limit: 777, Load: byProxies, Noise: 0.005}
	p := plan(t, "proxies=50..5000", withSoak)
	r, _ := search(t, f, p, capacity.Options{
		Predict: []sizing.Size{{Proxies: 600}, {Proxies: 20000, Services: 2000, Rate: 15}}, ReplicaCPU: 0.5, ReplicaMemory: 4 << 30,
	})
	inside, beyond := r.Predictions[0], r.Predictions[1]
	const rate = 4
	if want := 0.05 + 1e-4*600*rate; math.Abs(inside.CPU.Value-want) > 0.05*want || len(inside.CPU.Extrapolated) > 0 {
		t.Errorf("CPU at 600: %+v, want %g", inside.CPU, want)
	}
	if want := 50e6 + 1e5*600; math.Abs(inside.Memory.Value-want) > 0.05*want || inside.Rate != rate || inside.Services != 100 {
		t.Errorf("memory at 600: %+v, want %g", inside.Memory, want)
	}
	if inside.Replicas.Count != 1 || beyond.Replicas.Count < 70 {
		t.Errorf("replicas: %+v and %+v", inside.Replicas, beyond.Replicas)
	}
	got := text(t, r)
	for _, want := range []string{
		"CAPACITY  quickstart: proxies.count=775 keeps the SLO, 800 does not",
		"confirmed by a soak of 2m0s at 775",
		"(the default, since the profile has none)",
		"20,000 × 2,000",
		"services ×20",
		"Beyond the runs the model extrapolates",
		"Hold-out check\n  Fitted on",
		`memory       "per service" and "per endpoint" did not vary: the cost is in "fixed"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestHoldOutPredictsWhatItHasNotSeen(t *testing.T) {
	t.Parallel()
	r, _ := search(t, &fake{Limit: 800, Load: byProxies, Noise: 0.005}, plan(t, "proxies=50..5000"))
	h := r.HoldOut
	if h == nil || h.Full != 800 || h.Half != 400 || h.FittedRuns != 4 || h.FullRuns != 1 || len(h.Lines) != 3 {
		t.Fatalf("%+v", h)
	}
	for _, l := range h.Lines {
		if math.Abs(l.Error) > 0.2 || len(l.Predicted.Extrapolated) == 0 {
			t.Errorf("%+v", l)
		}
	}
}

func TestSavedReportIsRenderedAgainFromItsFileAlone(t *testing.T) {
	t.Parallel()
	r, dir := search(t, &fake{Limit: 777, Load: byProxies, Noise: 0.01}, plan(t, "proxies=50..5000"))
	for _, file := range []string{"report.json", "report.md", "cpu.svg", "memory.svg", "latency.svg", "capacity.json"} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "runs")); err != nil {
		t.Fatal(err)
	}
	again, err := capacity.Load(dir)
	if err != nil || !capacity.Is(dir) {
		t.Fatal(err)
	}
	if text(t, r) != text(t, again) {
		t.Errorf("%s\nis not\n%s", text(t, again), text(t, r))
	}
	page := markdown(t, r)
	if got := markdown(t, again); got != page {
		t.Errorf("%s\nis not\n%s", got, page)
	}
	for _, want := range []string{"# quickstart\n\n**CAPACITY** proxies.count=775 keeps", "## Residuals: memory", "## Assumptions", "## Environment", "![CPU in steady load](cpu.svg)"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the Markdown", want)
		}
	}
}

func TestSavedRunsAloneGiveTheModelAndTheKnee(t *testing.T) {
	t.Parallel()
	found, dir := search(t, &fake{Limit: 777, Load: byProxies, Noise: 0.01}, plan(t, "proxies=50..5000"))
	byRate := func(s sizing.Size) float64 { return s.Rate }
	_, other := search(t, &fake{Limit: 1e6, Load: byRate, Noise: 0.01}, plan(t, "rate=1/s..32/s"))
	r, err := capacity.FromRuns("", capacity.Options{From: []string{dir, other, dir}, Predict: []sizing.Size{{Proxies: 2000}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Answer == nil || r.Answer.Text != found.Answer.Text || len(r.Points) != len(found.Points)+6 {
		t.Errorf("answer %+v, %d points", r.Answer, len(r.Points))
	}
	if r.Limits.PushRate == 0 || r.Predictions[0].Replicas.Count != 3 {
		t.Errorf("limits %+v, replicas %+v", r.Limits, r.Predictions[0].Replicas)
	}
	_, err = capacity.FromRuns("", capacity.Options{From: []string{t.TempDir()}})
	if !errors.Is(err, result.ErrNoResult) {
		t.Errorf("empty folder: %v", err)
	}
}

func TestQuestionableRunsAreListed(t *testing.T) {
	t.Parallel()
	r, _ := search(t, &fake{Limit: 3000, HarnessLimit: 700, Load: byProxies}, plan(t, "proxies=50..5000"))
	if got := text(t, r); !strings.Contains(got, "not in the fits of CPU and latency: ") || !strings.Contains(got, "proxies.count-800: SATURATED: stamps were late") {
		t.Errorf("text:\n%s", got)
	}
}

func TestP99OfTooFewSamplesIsMarked(t *testing.T) {
	t.Parallel()
	few := func(r *result.Result) { r.Propagation.All.Count = 60 }
	r, _ := search(t, &fake{Limit: 700, Load: byProxies, SpoilAbove: 150, Spoil: few}, plan(t, "proxies=50..5000"))
	got := text(t, r)
	for _, want := range []string{" 140 ms (max of 60)  ", " kept                 110 ms  ", "latency p99  some runs have too few samples for a p99, and the largest in its place (max of 60)"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

func TestJSONHasTheDocumentedSchema(t *testing.T) {
	t.Parallel()
	_, dir := search(t, &fake{Limit: 150, Load: byProxies}, plan(t, "proxies=50..400"))
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil || fields["schema"] != "xdsbench/capacity-report/v1" {
		t.Errorf("schema %v, error %v", fields["schema"], err)
	}
	for _, name := range []string{"answer", "plan", "outcome", "points", "model", "limits", "assumptions"} {
		if fields[name] == nil {
			t.Errorf("no %s", name)
		}
	}
}

func TestPredictAndSizesNameEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := capacity.ParsePredict("proxies=x,speed=3,rate=0,services")
	for _, want := range []string{`proxies is "x"`, `"speed" is not a key: the keys are proxies, services, endpoints and rate`, `rate is "0"`, `"services": want KEY=VALUE`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
	if w, err := capacity.ParsePredict("proxies=20000, services=2000,endpoints=5,rate=15/s"); err != nil || w != (sizing.Size{Proxies: 20000, Services: 2000, Endpoints: 5, Rate: 15}) {
		t.Errorf("%+v, error %v", w, err)
	}
	if _, err := capacity.ParseSizes([]string{"1000x500", "x", "0x5", "10"}); err == nil || strings.Count(err.Error(), "--sizes") != 3 {
		t.Errorf("error %v", err)
	}
}
