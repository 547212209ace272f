package sweep_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/xdsbench/xdsbench/experiment/sweep"
	"github.com/xdsbench/xdsbench/result"
)

func ids(values ...string) []string {
	all := []string{}
	for _, v := range values {
		all = append(all, v[:2]+"-"+debounce+"="+v[3:])
	}
	return all
}

func TestFrontHoldsWhatNoOtherSettingBeats(t *testing.T) {
	t.Parallel()
	outcomes := four()
	outcomes["50ms"] = outcome{p99: []float64{0.2}, cpu: []float64{4}} // beaten by 100ms
	r, _ := swept(t, plan(t, 2, "", "10ms", "50ms", "100ms", "500ms"), outcomes)
	if diff := cmp.Diff(ids("04 500ms", "03 100ms", "01 10ms"), r.Front); diff != "" {
		t.Error(diff)
	}
}

func TestSaturatedSettingIsNeitherOnTheFrontNorAdvised(t *testing.T) {
	t.Parallel()
	outcomes := four()
	best := outcomes["500ms"]
	best.saturated = true
	outcomes["500ms"] = best
	r, _ := swept(t, plan(t, 2, "1s", "100ms", "500ms"), outcomes)
	if diff := cmp.Diff(ids("01 100ms"), r.Front); diff != "" {
		t.Error(diff)
	}
	if r.Advice.Setting != r.Front[0] {
		t.Errorf("advice: %+v", r.Advice)
	}
	wantText(t, text(t, r), "2 of 2  kept  on the front", "0 of 2  kept  questionable", "run 1: SATURATED: messages waited", "1 of 2 settings were left out")
}

func TestSettingWithDefectsOrWithoutDataIsQuestionable(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*result.Result){
		"questionable: run 2: DEFECTS: proxies rejected 3 responses that are invalid": func(r *result.Result) { r.Acks.NacksInvalid = 3 },
		"questionable: run 1: NO DATA: none of 20 proxies got ready":                  func(r *result.Result) { r.Proxies.Ready = 0 },
	} {
		outcomes := four()
		best := outcomes["500ms"]
		best.spoil = spoil
		outcomes["500ms"] = best
		r, _ := swept(t, plan(t, 2, "1s", "100ms", "500ms"), outcomes)
		if diff := cmp.Diff(ids("01 100ms"), r.Front); diff != "" || len(r.Failed()) != 1 {
			t.Errorf("failed %q, front (-want +got):\n%s", r.Failed(), diff)
		}
		wantText(t, text(t, r), want)
	}
}

func TestAdviceUnderAnSLOIsTheCheapestThatKeepsItInEveryRepeat(t *testing.T) {
	t.Parallel()
	outcomes := four()
	outcomes["100ms"] = outcome{p99: []float64{0.100, 0.130}, cpu: []float64{3, 3.1}}
	outcomes["50ms"] = outcome{p99: []float64{0.050, 0.052}, cpu: []float64{4, 4.1}}
	r, _ := swept(t, plan(t, 2, "120ms", "10ms", "50ms", "100ms", "500ms"), outcomes)
	if r.Advice.Setting != ids("02 50ms")[0] {
		t.Errorf("advice: %+v", r.Advice)
	}
	reasons := strings.Join(r.Advice.Reasons, "\n")
	wantText(t, reasons, debounce+" 100ms -> 50ms: p99 -55.7 % (115 ms to 51 ms), CPU +32.8 %", "misses propagation.all.p99", debounce+" 50ms -> 10ms")
	none, _ := swept(t, plan(t, 2, "1ms", "10ms", "50ms"), outcomes)
	if none.Advice.Setting != "" {
		t.Errorf("advice: %+v", none.Advice)
	}
	wantText(t, none.Advice.Text, "no setting kept the SLO")
}

func TestAdviceComparesWithTheProfileAsItIs(t *testing.T) {
	t.Parallel()
	p := plan(t, 2, "1s", "100ms", "500ms")
	base, err := p.Base.With("target.env." + debounce + "=100ms")
	if err != nil {
		t.Fatal(err)
	}
	p.Base = base
	r, _ := swept(t, p, four())
	wantText(t, strings.Join(r.Advice.Reasons, "\n"), "100ms -> 500ms: p99 x5 (100 ms to 500 ms), CPU -33.3 %", "(from the profile as it is)")
}

func TestDifferencesWithinTheSpreadAreNoise(t *testing.T) {
	t.Parallel()
	r, _ := swept(t, plan(t, 2, "1s", "50ms", "100ms"), map[string]outcome{
		"50ms":  {p99: []float64{0.10, 0.12}, cpu: []float64{4, 5}},
		"100ms": {p99: []float64{0.11, 0.13}, cpu: []float64{3, 4.5}},
	})
	wantText(t, strings.Join(r.Advice.Reasons, "\n"), "p99 within noise", "CPU within noise")
	wantText(t, text(t, r), "(within noise of the one before)", "one in 3 comparisons")
}

func TestSettingsUnderDifferentLoadAreNoAlternatives(t *testing.T) {
	t.Parallel()
	for field, values := range map[string][]string{
		"rate":                        {"1/s", "5/s"},
		"churn[0].rate":               {"1/s", "5/s"},
		"mesh.services":               {"10", "20"},
		"proxies.kinds":               {"{sidecar: 1}", "{router: 1}"},
		"proxies.connectRate":         {"10/s", "100/s"},
		"proxies.storms":              {"{every: 0s, share: 1}", "{every: 1s, share: 1}"},
		"proxies.storms.every":        {"0s", "1s"},
		"proxies.disconnects.rate":    {"0/s", "5/s"},
		"proxies.nack.rate":           {"0", "0.5"},
		"proxies.slowRead":            {"{share: 0}", "{share: 0.5, pause: 1s}"},
		"proxies.applyDelay":          {"0s", "50ms"},
		"proxies.halfOpen.share":      {"0", "0.5"},
		"proxies.reconnect.initial":   {"100ms", "1s"},
		"target.outage":               {"null", "{for: 1s}"},
		"pprof.cpu":                   {"0s", "1s"},
		"phases.warmup":               {"0s", "1s"},
		"proxies.initialFetchTimeout": {"0s", "1s"},
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			p := plan(t, 2, "1s", "50ms")
			p.Vary = append(p.Vary, sweep.Vary{Field: field, Values: values})
			r, _ := swept(t, p, map[string]outcome{"50ms": {p99: []float64{0.1, 0.1}, cpu: []float64{1, 1}}})
			if len(r.Front) > 0 || r.Advice.Setting != "" || !strings.Contains(r.Advice.Text, field+" changes the load") {
				t.Errorf("front %v, advice %+v", r.Front, r.Advice)
			}
		})
	}
}

func TestSettingsThatAreAlikeGiveNoAdvice(t *testing.T) {
	t.Parallel()
	r, _ := swept(t, plan(t, 2, "", "50ms", "100ms"), map[string]outcome{
		"50ms":  {p99: []float64{0.10, 0.12}, cpu: []float64{4, 5}},
		"100ms": {p99: []float64{0.11, 0.13}, cpu: []float64{4.4, 5.1}},
	})
	if r.Advice.Setting != "" || !strings.Contains(r.Advice.Text, "beyond noise") {
		t.Errorf("advice %+v", r.Advice)
	}
}

func TestThereIsNoAdviceFromNoisyOrTooFewRuns(t *testing.T) {
	t.Parallel()
	r, _ := swept(t, plan(t, 1, "1s", "10ms", "50ms"), four())
	wantText(t, r.Advice.Text, "too few repeats")
	noisy := map[string]outcome{
		"10ms": {p99: []float64{0.1, 0.3}, cpu: []float64{1}}, "50ms": {p99: []float64{0.2, 0.5}, cpu: []float64{1}},
	}
	r, _ = swept(t, plan(t, 2, "1s", "10ms", "50ms"), noisy)
	wantText(t, r.Advice.Text, "too noisy")
	if r.Advice.Setting != "" {
		t.Errorf("advice: %+v", r.Advice)
	}
	wantText(t, text(t, r), "2 of 2  kept  noisy", "noisy: the p99 spans 100 %")
}

func TestWithoutAnSLOTheFrontsKneeIsNamed(t *testing.T) {
	t.Parallel()
	r, _ := swept(t, plan(t, 2, "", "10ms", "50ms", "100ms", "500ms"), four())
	if r.Advice.Setting != ids("03 100ms")[0] {
		t.Errorf("advice: %+v", r.Advice)
	}
	if len(r.Advice.Reasons) != 3 {
		t.Errorf("reasons: %q", r.Advice.Reasons)
	}
	wantText(t, r.Advice.Text, "no SLO")
	two, _ := swept(t, plan(t, 2, "", "10ms", "500ms"), four())
	if two.Advice.Setting != "" || len(two.Advice.Reasons) != 1 {
		t.Errorf("advice of two points: %+v", two.Advice)
	}
}

func TestQuantileOfTooFewSamplesIsMarked(t *testing.T) {
	t.Parallel()
	count := int64(70)
	r, _ := swept(t, plan(t, 2, "", "10ms"), map[string]outcome{"10ms": {
		p99: []float64{0.3, 0.1}, cpu: []float64{1},
		spoil: func(r *result.Result) {
			count -= 10
			r.Propagation.LastProxy = &result.Distribution{Count: count, P99: 0.3}
			r.Propagation.All.Count = 60
		},
	}})
	if f := r.Settings[0].Figures; f["propagation.lastProxy.p99"].Note != "max of 50 to 60" || f["propagation.all.p50"].Note != "" {
		t.Errorf("%+v", f)
	}
	wantText(t, text(t, r), "200 ms (100 to 300 ms, max of 60)", "300 ms (max of 50 to 60)", "p99 200 ms (max of 60) for CPU")
}

func TestFiguresAreMediansWithTheirRange(t *testing.T) {
	t.Parallel()
	r, _ := swept(t, plan(t, 3, "", "10ms"), map[string]outcome{"10ms": {p99: []float64{0.3, 0.1, 0.2}, cpu: []float64{1, 2, 4}}})
	f := r.Settings[0].Figures
	want := map[string]sweep.Figure{
		"propagation.all.p50": {0.1, 0.05, 0.15, "s", 0, ""}, "propagation.all.p99": {0.2, 0.1, 0.3, "s", 0, ""}, "propagation.lastProxy.p99": {0.2, 0.1, 0.3, "s", 0, ""},
		"controlPlane.steady.cpuSeconds": {2, 1, 4, "s", 0.01, ""}, "controlPlane.peakRSSBytes": {100e6, 100e6, 100e6, "bytes", 0, ""}, "volume.bytes": {1500, 1500, 1500, "bytes", 0, ""},
		"controlPlane.work.pushes": {100, 100, 100, "", 0, ""}, "pushesSaved": {0.5, 0.5, 0.5, "", 0, ""}, "controlPlane.work.debounceRounds": {4, 4, 4, "", 0, ""},
		"controlPlane.stages.mutationsPerPush": {2.5, 2.5, 2.5, "", 0, ""}, "controlPlane.stages.debounce.mean": {0.02, 0.02, 0.02, "s", 0, ""},
		"acks.nacks": {1, 1, 1, "", 0, ""}, "propagation.undelivered": {0, 0, 0, "", 0, ""},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
}

func TestProfilesAreMergedPerSettingAndContrasted(t *testing.T) {
	t.Parallel()
	outcomes := four()
	for name, o := range outcomes {
		o.pprof = true
		outcomes[name] = o
	}
	r, dir := swept(t, plan(t, 2, "", "10ms", "500ms"), outcomes)
	if err := r.Files(dir); err != nil {
		t.Fatal(err)
	}
	h := r.Settings[0].Profiles[0]
	want := map[string]sweep.Part{"eds": {0.75, 6}, "gc": {0.25, 2}}
	if diff := cmp.Diff(want, h.Parts); diff != "" || h.Unit != "s" || h.Runs != 2 {
		t.Errorf("%+v\n%s", h, diff)
	}
	data, err := os.ReadFile(filepath.Join(dir, h.File))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := profile.ParseData(data)
	if err != nil || len(merged.Sample) != 1 || merged.Sample[0].Value[0] != 16e9 {
		t.Errorf("merged profile: %v, %v", merged, err)
	}
	wantText(t, text(t, r), "CPU by part: "+debounce+"=500ms against "+debounce+"=10ms", "eds", "+4.5 s",
		"go tool pprof -diff_base DIR/pprof/02-"+debounce+"=500ms-cpu.pb.gz DIR/pprof/01-"+debounce+"=10ms-cpu.pb.gz")
}

func TestFilesAreMadeFromWhatIsSavedAlone(t *testing.T) {
	t.Parallel()
	r, dir := swept(t, plan(t, 2, "80ms", "10ms", "50ms", "500ms"), four())
	if err := r.Files(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"latency-" + debounce + ".svg", "cpu-" + debounce + ".svg", "front.svg", "sweep.json", "profile.yaml"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, string(page), "# Sweep of smoke", "## Advice", "(front.svg)", "## Assumptions", "Imaginary, 2 CPUs",
		"xdsbench sweep -f profile.yaml --vary target.env."+debounce+"=10ms,50ms,500ms --repeat 2",
		"xdsbench run -f profile.yaml --set target.env."+debounce+"=500ms", `PILOT\_DEBOUNCE\_AFTER=10ms`)
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := report(t, dir).Files(dir); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(dir, "report.json")); err != nil || !bytes.Equal(data, again) {
		t.Errorf("a second report differs from the saved one: %v", err)
	}
	var head struct{ Schema string }
	if err := json.Unmarshal(data, &head); err != nil || head.Schema != "xdsbench/sweep-report/v2" {
		t.Errorf("schema %q, %v", head.Schema, err)
	}
}
