//go:build realstack

package main

import (
	"testing"

	"github.com/xdsbench/xdsbench/result/observed"
)

func TestRealIstiodsDebounceStageFollowsItsKnobAndTheConvergenceTimeDoesNot(t *testing.T) {
	means := func(after string) (debounce, convergence, total float64) {
		r := realRun(t, "--proxies", "100", "--set", "mesh.services=50", "--rate", "0.5/s", "--duration", "16s",
			"--set", "target.env.PILOT_DEBOUNCE_AFTER="+after)
		checkStages(t, r.ControlPlane.Stages)
		if len(r.ControlPlane.Missing) > 0 {
			t.Errorf("istiod does not serve %q", r.ControlPlane.Missing)
		}
		h := r.ControlPlane.Metrics.Histograms
		return h["pilot_debounce_time"].Mean, h["pilot_proxy_convergence_time"].Mean, r.ControlPlane.Stages.Total.Mean
	}
	debounce, convergence, total := means("100ms")
	longDebounce, longConvergence, longTotal := means("1s")
	if debounce < 0.1 || debounce > 0.3 || longDebounce < 1 {
		t.Errorf("mean debounce %.3f s and %.3f s, want 0.1 s and 1 s or a little more", debounce, longDebounce)
	}
	if longTotal-total < 0.7 {
		t.Errorf("the whole way took %.3f s and %.3f s, want 0.9 s more", total, longTotal)
	}
	if convergence > 0.2 || longConvergence > 0.2 {
		t.Errorf("convergence time %.3f s and %.3f s: the debounce is not part of it", convergence, longConvergence)
	}
}

func TestRealIstiodsProfileNamesTheParts(t *testing.T) {
	r := realRun(t, "--proxies", "200", "--set", "mesh.services=200", "--variant", "delta", "--duration", "12s",
		"--set", "pprof.cpu=10s", "--set", "pprof.heap=true")
	kinds := make(map[string]*observed.ProfileSummary)
	for i := range r.ControlPlane.Profiles {
		kinds[r.ControlPlane.Profiles[i].Kind] = &r.ControlPlane.Profiles[i]
	}
	for _, kind := range []string{"cpu", "heap", "allocs"} {
		p := kinds[kind]
		if p == nil || p.Total <= 0 || p.Parts["other"] > 0.2 {
			t.Errorf("%s profile: %+v, want at most 20 %% other", kind, p)
		}
	}
	if cpu := kinds["cpu"]; cpu != nil && cpu.Parts["eds"] <= 0 {
		t.Errorf("EDS generation has no part in %v", cpu.Parts)
	}
}
