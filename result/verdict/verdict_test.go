package verdict_test

import (
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// sound is the result of a run in which all went well.
func sound() *result.Result {
	return &result.Result{
		Proxies:     &result.Proxies{Requested: 20, Connected: 20, Ready: 20},
		Mutations:   &result.Mutations{Scheduled: 10, Applied: 10, Complete: 8, Noop: 2},
		Propagation: &result.Propagation{Expected: 160, Deliveries: 160, All: &result.Distribution{Count: 160}},
		Convergence: &result.Convergence{},
		Harness:     &result.Harness{},
	}
}

func TestTheWorstVerdictComesFirstAndAllAreNamed(t *testing.T) {
	t.Parallel()
	type change func(r *result.Result)
	failed := func(r *result.Result) { r.Failure = "the control plane did not start" }
	noData := func(r *result.Result) { *r.Propagation = result.Propagation{} }
	defect := func(r *result.Result) { r.Propagation.Undelivered = 550 }
	missed := func(r *result.Result) { r.SLO = []result.SLO{{Metric: "propagation.all.p99", Limit: "2s"}} }
	partial := func(r *result.Result) { r.Partial = true }
	saturated := func(r *result.Result) { r.Harness.Saturated, r.Harness.Reasons = true, []string{"late"} }
	for name, test := range map[string]struct {
		changes []change
		want    []string
	}{
		"nothing wrong":              {nil, nil},
		"a kept SLO":                 {[]change{func(r *result.Result) { r.SLO = []result.SLO{{Pass: true}} }}, nil},
		"saturated":                  {[]change{saturated}, []string{verdict.Saturated}},
		"interrupted":                {[]change{partial, saturated}, []string{verdict.Partial, verdict.Saturated}},
		"an SLO missed":              {[]change{missed, partial}, []string{verdict.SLOMissed, verdict.Partial}},
		"undelivered, and saturated": {[]change{saturated, defect}, []string{verdict.Defects, verdict.Saturated}},
		"nothing expected":           {[]change{noData, missed}, []string{verdict.NoData, verdict.SLOMissed}},
		"everything":                 {[]change{failed, noData, defect, missed, saturated}, []string{verdict.Failed, verdict.NoData, verdict.Defects, verdict.SLOMissed, verdict.Saturated}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sound()
			for _, c := range test.changes {
				c(r)
			}
			if name == "everything" {
				r.Propagation.Expected = 0
			}
			verdict.Judge(r)
			want := verdict.Passed
			if len(test.want) > 0 {
				want = test.want[0]
			}
			if r.Verdict != want || len(r.Reasons) != len(test.want) {
				t.Fatalf("%s, reasons %q; want %s and %d reasons", r.Verdict, r.Reasons, want, len(test.want))
			}
			for i, reason := range r.Reasons {
				if !strings.HasPrefix(reason, test.want[i]+": ") {
					t.Errorf("reason %d is %q, want one of %s", i, reason, test.want[i])
				}
			}
		})
	}
}

func TestDefectsAreNamedWithTheirNumbersAndTheirCause(t *testing.T) {
	t.Parallel()
	none, some := int64(0), int64(80)
	for name, test := range map[string]struct {
		change func(r *result.Result)
		want   []string
	}{
		"a deaf replica": {
			func(r *result.Result) {
				r.Propagation.Undelivered = 80
				r.ControlPlane = &observed.ControlPlane{Replicas: []observed.Replica{
					{Address: "127.0.0.1:1", Deliveries: &some, Undelivered: &none},
					{Address: "127.0.0.1:2", Deliveries: &none, Undelivered: &some},
				}}
			},
			[]string{"80 of 160 pairs", "replica 1 (127.0.0.1:2) delivered 0 of 80"},
		},
		"NACKs by the profile": {
			func(r *result.Result) {
				r.Propagation.Undelivered, r.Acks = 1, &result.Acks{NacksInjected: 3}
			},
			[]string{"proxies.nack: 3 NACKs"},
		},
		"a silent peer": {
			func(r *result.Result) {
				r.Propagation.Undelivered = 1
				r.Silences = []result.Silence{{Who: "control plane", From: 4.2, Detail: "20 streams open, 0 responses"}}
			},
			[]string{"control plane answered nothing from 4.2 s of steady load on (20 streams open, 0 responses)"},
		},
		"half a mesh": {
			func(r *result.Result) {
				r.Sync = &result.Sync{IncompleteAtSteady: 20, ClustersLacking: 100, TimeToComplete: &result.Distribution{Max: 10.1}}
			},
			[]string{"20 proxies were ready, but lacked 100 clusters of the mesh", "10.1s after"},
		},
		"invalid resources": {
			func(r *result.Result) {
				r.Acks = &result.Acks{NacksInvalid: 2, Reasons: map[string]int64{"cluster x: no name": 2}}
			},
			[]string{"rejected 2 responses", `"cluster x: no name"`},
		},
		"diverged":          {func(r *result.Result) { r.Convergence.Diverged = 3 }, []string{"3 proxies ended with a wrong state"}},
		"unknown states":    {func(r *result.Result) { r.Propagation.UnknownStates = 4 }, []string{"4 states that the mesh never had"}},
		"never ready":       {func(r *result.Result) { r.Proxies.Ready = 19 }, []string{"1 of 20 proxies never got ready"}},
		"broken accounting": {func(r *result.Result) { r.Errors = []string{"accounting: 5 of 6"} }, []string{"accounting: 5 of 6"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sound()
			test.change(r)
			if v := verdict.Of(r); v != verdict.Defects {
				t.Fatalf("verdict %s", v)
			}
			for _, want := range test.want {
				if !strings.Contains(r.Reasons[0], want) {
					t.Errorf("no %q in %q", want, r.Reasons[0])
				}
			}
		})
	}
}

func TestNoDataSaysWhy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(r *result.Result)
		want   string
	}{
		"ztunnels alone":   {func(r *result.Result) { r.Profile = []byte(`{"proxies":{"kinds":{"ztunnel":1}}}`) }, "ztunnels has no EDS"},
		"other names":      {func(r *result.Result) { r.Profile = []byte(`{"target":{"clusterName":"x/{service}"}}`) }, `"x/{service}" (--clusters)`},
		"only no-ops":      {func(r *result.Result) { r.Mutations.Noop = 10 }, "all 10 mutations were no-ops"},
		"no write applied": {func(r *result.Result) { r.Mutations = &result.Mutations{Scheduled: 10, Failed: 10} }, "none of 10 mutations was applied"},
		"no proxy":         {func(r *result.Result) { r.Proxies.Ready = 0 }, "none of 20 proxies got ready"},
		"interrupted early": {func(r *result.Result) {
			r.Partial, r.Mutations = true, &result.Mutations{Scheduled: 10}
		}, "interrupted before any mutation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sound()
			*r.Propagation = result.Propagation{}
			test.change(r)
			if v := verdict.Of(r); v != verdict.NoData || !strings.Contains(r.Reasons[0], test.want) {
				t.Errorf("%s, reasons %q; want NO DATA with %q", v, r.Reasons, test.want)
			}
		})
	}
}

// A profile without churn measures the sync alone: that is data.
func TestARunWithoutMutationsHasDataOnItsSync(t *testing.T) {
	t.Parallel()
	r := sound()
	*r.Mutations, *r.Propagation = result.Mutations{}, result.Propagation{}
	if v := verdict.Of(r); v != verdict.Passed {
		t.Errorf("%s, reasons %q", v, r.Reasons)
	}
}
