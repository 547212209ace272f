package compare_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/experiment/compare"
	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

func TestEqualBuildsShowNoRegression(t *testing.T) {
	for seed := range uint64(10) {
		r := compared(t, set(t, 2*seed, 5), set(t, 2*seed+1, 5), options())
		if r.Conclusion != "no regression found" || len(r.Regressions) > 0 {
			t.Errorf("seed %d: %s, %v", seed, r.Conclusion, r.Regressions)
		}
	}
}

func TestFalseAlarmsStayBelowTheLevelEvenWithoutAThreshold(t *testing.T) {
	o := options()
	o.Threshold = 0
	const comparisons = 100
	alarms, hints := 0, 0
	pool := set(t, 1000, 60).Runs
	random := rand.New(rand.NewPCG(1, 2))
	for range comparisons {
		random.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		r := compared(t, &compare.Set{Runs: pool[:6]}, &compare.Set{Runs: pool[6:12]}, o)
		alarms += len(r.Regressions)
		for _, m := range r.Metrics {
			if m.P != nil && *m.P <= o.Alpha {
				hints++
			}
		}
	}
	if alarms > comparisons*5/100 {
		t.Errorf("%d false alarms in %d comparisons of equal builds", alarms, comparisons)
	}
	if hints < comparisons/2 {
		t.Errorf("only %d p-values below the level: the correction was not put to the test", hints)
	}
}

func TestAShiftIsFoundWithItsSign(t *testing.T) {
	before, after := set(t, 1, 5), set(t, 2, 5, slower(5))
	r := compared(t, before, after, options())
	m := metric(t, r, "propagation.all.p99")
	if r.Conclusion != compare.Regressed || m.Verdict != "worse" || !m.Significant || !m.Regression || *m.Change < 3 || *m.P > 0.01 || *m.Corrected > 0.05 {
		t.Errorf("%s: %+v", r.Conclusion, m)
	}
	if got := regressed(r); !slices.Equal(got, []string{"propagation.all.p50", "propagation.all.p99"}) {
		t.Errorf("regressions: %v", got)
	}
	r = compared(t, after, before, options())
	m = metric(t, r, "propagation.all.p99")
	if r.Conclusion != "no regression found" || m.Verdict != "better" || *m.Change > -0.7 {
		t.Errorf("the other way: %s: %+v", r.Conclusion, m)
	}
}

func TestHigherIsBetterWhereItIs(t *testing.T) {
	r := compared(t, set(t, 1, 5), set(t, 2, 5, func(r *result.Result, n int) { r.Mutations.Complete = 10 + n%2 }), options())
	if m := metric(t, r, "mutations.complete"); m.Verdict != "worse" || m.Deciding || m.Regression {
		t.Errorf("%+v", m)
	}
}

func TestThresholds(t *testing.T) {
	before, after := set(t, 1, 6), set(t, 2, 6, slower(1.5))
	for _, c := range []struct {
		thresholds []string
		want       []string
	}{
		{nil, []string{"propagation.all.p50", "propagation.all.p99"}},
		{[]string{"200%"}, nil},
		{[]string{"200%", "propagation.all.p99=10%"}, []string{"propagation.all.p99"}},
		{[]string{"propagation.all.*=200%"}, nil},
	} {
		o := options()
		if err := o.ParseThresholds(c.thresholds); err != nil {
			t.Fatal(err)
		}
		if got := regressed(compared(t, before, after, o)); !slices.Equal(got, c.want) {
			t.Errorf("%v: regressions %v, want %v", c.thresholds, got, c.want)
		}
	}
}

func TestAThresholdOfItsOwnMakesAMetricDecide(t *testing.T) {
	before, after := set(t, 1, 6), set(t, 2, 6, func(r *result.Result, _ int) { r.ControlPlane.Stages.Push.Mean *= 4 })
	if got := regressed(compared(t, before, after, options())); got != nil {
		t.Fatalf("by default: %v", got)
	}
	o := options()
	if err := o.ParseThresholds([]string{"controlPlane.stages.push.mean=20%"}); err != nil {
		t.Fatal(err)
	}
	if got := regressed(compared(t, before, after, o)); !slices.Equal(got, []string{"controlPlane.stages.push.mean"}) {
		t.Errorf("regressions %v", got)
	}
}

func TestSLOsOfTheProfileDecide(t *testing.T) {
	limit := func(r *result.Result, _ int) {
		r.SLO = []result.SLO{{Metric: "propagation.lastProxy.max", Limit: "2s", Pass: true}, {Metric: "mutations.applied", Limit: ">=10", Pass: true}}
	}
	worse := func(r *result.Result, n int) {
		r.Propagation.LastProxy.Max *= 4
		r.Mutations.Applied = 5 + n%2
	}
	r := compared(t, set(t, 1, 7, limit), set(t, 2, 7, limit, worse), options())
	if got := regressed(r); !slices.Contains(got, "propagation.lastProxy.max") || !slices.Contains(got, "mutations.applied") {
		t.Errorf("regressions %v", got)
	}
}

func TestTooFewRunsAreSaidAndNotTakenForNoRegression(t *testing.T) {
	for _, runs := range []int{1, 3, 4} {
		r := compared(t, set(t, 1, runs), set(t, 2, runs, slower(5)), options())
		if r.Conclusion != "too few runs to tell" || r.RunsNeeded != 5 || len(r.Regressions) > 0 {
			t.Errorf("%d runs: %s, needed %d", runs, r.Conclusion, r.RunsNeeded)
		}
		if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "too few repeats to tell") }) {
			t.Errorf("%d runs: no warning in %v", runs, r.Warnings)
		}
	}
	o := options()
	o.Metrics = []string{"propagation.all.p99"}
	if r := compared(t, set(t, 1, 4), set(t, 2, 4, slower(5)), o); r.Conclusion != compare.Regressed || len(r.Metrics) != 1 {
		t.Errorf("one metric, 4 runs: %s, %d metrics", r.Conclusion, len(r.Metrics))
	}
}

func TestDefectsThatAppearAreARegressionInASingleRun(t *testing.T) {
	for name, spoil := range map[string]change{
		"propagation.undelivered":   func(r *result.Result, n int) { r.Propagation.Undelivered = int64(n / 2) },
		"propagation.unknownStates": func(r *result.Result, n int) { r.Propagation.UnknownStates = int64(n / 2) },
		"convergence.diverged":      func(r *result.Result, n int) { r.Convergence.Diverged = n / 2 },
		"proxies.neverReady":        func(r *result.Result, n int) { r.Proxies.Ready -= n / 2 },
		"errors":                    func(r *result.Result, n int) { r.Errors = make([]string, n/2) },
	} {
		r := compared(t, set(t, 1, 3), set(t, 2, 3, spoil), options())
		if got := regressed(r); !slices.Equal(got, []string{name}) || !strings.Contains(r.Regressions[0].Reason, "1 of 3 new ones") {
			t.Errorf("%s: regressions %v", name, r.Regressions)
		}
	}
}

func TestADefectIsShownThoughOtherMetricsAreAskedFor(t *testing.T) {
	o := options()
	o.Metrics = []string{"propagation.all.p99"}
	lost := func(r *result.Result, n int) { r.Propagation.Undelivered = int64(n) }
	r := compared(t, set(t, 1, 3), set(t, 2, 3, lost), o)
	if got := regressed(r); !slices.Contains(got, "propagation.undelivered") {
		t.Errorf("regressions %v", r.Regressions)
	}
}

func TestRunsThatWereCutShortAreNoSamples(t *testing.T) {
	cut := func(r *result.Result, n int) {
		if n == 1 {
			r.Partial, r.Propagation.Undelivered = true, 180
		}
	}
	r := compared(t, set(t, 1, 3), set(t, 2, 3, cut), options())
	if got := regressed(r); len(got) > 0 || !strings.Contains(strings.Join(r.Warnings, "\n"), "1 of 3 new runs failed or were cut short") {
		t.Errorf("regressions %v, warnings %q", got, r.Warnings)
	}
}

func TestRunsThatFailedMeasuredNothingOrHaveDefectsAreCounted(t *testing.T) {
	spoil := func(r *result.Result, n int) {
		switch n {
		case 0:
			r.Partial, r.Failure = true, "the control plane exited"
		case 1:
			r.Proxies.Ready = 0
		case 2:
			r.Acks.NacksInvalid = 1
		}
	}
	r := compared(t, set(t, 1, 4), set(t, 2, 4, spoil), options())
	if !slices.Equal(r.New.Verdicts, []string{"FAILED", "NO DATA", "DEFECTS", "PASSED"}) || r.Conclusion != compare.Regressed {
		t.Errorf("%s: %q", r.Conclusion, r.New.Verdicts)
	}
	var text strings.Builder
	if err := r.Document().Text(&text, doc.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"(4 runs)\n", "(4 runs, 1 FAILED, 1 NO DATA, 1 DEFECTS)\n", "FAILED: the control plane exited", "NO DATA: none of 50 proxies got ready"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, text.String())
		}
	}
}

func TestASetInWhichNothingWasMeasuredCannotBeCompared(t *testing.T) {
	for name, spoil := range map[string]change{
		"cut short": func(r *result.Result, _ int) { r.Partial = true },
		"failed":    func(r *result.Result, _ int) { r.Partial, r.Failure = true, "the control plane exited" },
		"no data":   func(r *result.Result, _ int) { r.Proxies.Ready = 0 },
	} {
		if _, err := compare.Compare(set(t, 1, 3), set(t, 2, 3, spoil), options()); !errors.Is(err, compare.ErrNoData) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestDefectsThatWereThereBeforeNeedStatistics(t *testing.T) {
	undelivered := func(low int64) change {
		return func(r *result.Result, n int) { r.Propagation.Undelivered = low + int64(n) }
	}
	if got := regressed(compared(t, set(t, 1, 6, undelivered(1)), set(t, 2, 6, undelivered(1)), options())); got != nil {
		t.Errorf("unchanged: %v", got)
	}
	if got := regressed(compared(t, set(t, 1, 6, undelivered(1)), set(t, 2, 6, undelivered(500)), options())); !slices.Equal(got, []string{"propagation.undelivered"}) {
		t.Errorf("far more: %v", got)
	}
}

func TestVolumesOfTheVariantsAreLinedUpByType(t *testing.T) {
	delta := func(r *result.Result, _ int) {
		eds := r.Volume.ByType["eds"]
		eds.Bytes /= 8
		r.Volume.ByType = map[string]result.Traffic{"eds": eds}
		r.Profile = []byte(strings.Replace(string(r.Profile), "sotw", "delta", 1))
	}
	r := compared(t, set(t, 1, 5), set(t, 2, 5, delta), options())
	if m := metric(t, r, "volume.byType.eds.bytes"); m.Verdict != "better" || m.Unit != "bytes" {
		t.Errorf("%+v", m)
	}
	if m := metric(t, r, "volume.byType.cds.bytes"); m.Verdict != "absent" || m.New != nil || m.P != nil {
		t.Errorf("%+v", m)
	}
	if len(r.Profile) != 1 || r.Profile[0].Field != "proxies.variant" || r.Profile[0].Old[0] != "sotw" || r.Profile[0].New[0] != "delta" {
		t.Errorf("profile: %+v", r.Profile)
	}
}

func TestOneRunEachSaysWhatLiesWithinItsScatter(t *testing.T) {
	noisy := func(low, high float64) change {
		return func(r *result.Result, _ int) {
			r.Propagation.Noise = &result.Noise{P50: result.Range{Low: low, High: high}}
		}
	}
	for note, high := range map[string]float64{"within-run scatter overlaps": 3, "beyond within-run scatter": 1.5} {
		r := compared(t, set(t, 1, 1, noisy(1, high)), set(t, 2, 1, noisy(2, 4)), options())
		if m := metric(t, r, "propagation.all.p50"); m.Verdict != "too few" || !strings.HasPrefix(m.Note, note) {
			t.Errorf("want %q: %+v", note, m)
		}
	}
}

func TestQuantileOfTooFewSamplesIsMarkedOnEitherSide(t *testing.T) {
	few := func(r *result.Result, n int) { r.Propagation.LastProxy.Count = int64(60 - n) }
	r := compared(t, set(t, 1, 3), set(t, 2, 3, few), options())
	if m := metric(t, r, "propagation.lastProxy.p99"); m.Old.Note != "" || m.New.Note != "max of 58 to 60" {
		t.Errorf("old %+v, new %+v", m.Old, m.New)
	}
	var text strings.Builder
	if err := r.Document().Text(&text, doc.TextOptions{}); err != nil || !strings.Contains(text.String(), "% (max of 58 to 60) ") {
		t.Errorf("error %v, text:\n%s", err, text.String())
	}
}

func TestWhatStagesLeaveOrShareIsShownAndNeverDecides(t *testing.T) {
	more := func(factor float64) change {
		return func(r *result.Result, n int) {
			s := r.ControlPlane.Stages
			left := factor * (1 + float64(n)/100)
			s.Overlap, s.Unattributed = &left, &observed.Stage{Source: observed.SourceEstimated, Mean: left}
			s.Push.P99Bucket = &observed.Bucket{Low: left}
		}
	}
	names := []string{"controlPlane.stages.overlap", "controlPlane.stages.unattributed.mean", "controlPlane.stages.push.p99Bucket.low"}
	before, after := set(t, 1, 6, more(1)), set(t, 2, 6, more(9))
	for _, name := range names[:2] {
		metric(t, compared(t, before, after, options()), name)
	}
	o := options()
	o.Metrics = names
	for _, m := range compared(t, before, after, o).Metrics {
		if m.Deciding || m.Better != "" || m.Verdict != "changed" {
			t.Errorf("%+v", m)
		}
	}
}

func TestNoRunMayBeOnBothSides(t *testing.T) {
	s := set(t, 1, 2)
	if _, err := compare.Compare(s, s, options()); err == nil || !strings.Contains(err.Error(), "in both sets") {
		t.Errorf("error: %v", err)
	}
}

func TestRunsUnderDifferentLoadAreRefusedWithWhatDiffers(t *testing.T) {
	profile := func(old, now string) change {
		return func(r *result.Result, _ int) { r.Profile = []byte(strings.Replace(string(r.Profile), old, now, 1)) }
	}
	more, faster := profile(`"count":50`, `"count":80,"variant":"delta"`), profile("5/s", "9/s")
	before, after := set(t, 1, 2), set(t, 2, 2, profile(`,"variant":"sotw"`, ""), more, faster, profile(`{"name"`, `{"seed":9,"name"`))
	_, err := compare.Compare(before, after, options())
	for _, want := range []string{"churn[0].rate: 5/s -> 9/s", "proxies.count: 50 -> 80", "--allow-different-load"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	for _, setting := range []string{"variant", "seed"} {
		if err != nil && strings.Contains(err.Error(), setting) {
			t.Errorf("%s is no load: %v", setting, err)
		}
	}
	o := options()
	o.AllowDifferentLoad = true
	if r := compared(t, before, after, o); !strings.Contains(strings.Join(r.Warnings, "\n"), "not under the same load") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func TestAFieldThatIsNewerThanAResultHasItsDefault(t *testing.T) {
	explicit := func(r *result.Result, _ int) {
		r.Profile = []byte(strings.Replace(string(r.Profile), `"proxies":{`, `"proxies":{"streamsPerConnection":1,"reconnect":{"max":"30s"},`, 1))
	}
	if r := compared(t, set(t, 1, 1), set(t, 2, 1, explicit), options()); len(r.Profile) > 0 {
		t.Errorf("differences %v", r.Profile)
	}
}
