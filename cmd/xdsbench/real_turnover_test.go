//go:build realstack

package main

import (
	"testing"

	"github.com/xdsbench/xdsbench/result"
)

func TestRealIstiodRolloutReplacesTheProxiesOfItsPods(t *testing.T) {
	r := realRun(t, "-f", profile(t, rollout))
	checkRollout(t, r)
}

func TestRealIstiodTellsZtunnelsOfPodsThatComeAndGo(t *testing.T) {
	r := realRun(t, "-f", profile(t, ambient))
	checkPods(t, r)
	k := r.Proxies.ByKind["waypoint"]
	if k == nil || k.Ready != 10 {
		t.Errorf("waypoints %+v: want 10 ready", k)
	}
}

// ambient is a profile of ztunnels and waypoints of an istiod with ambient on.
const ambient = `
mesh: {services: 20, endpointsPerService: 5}
proxies: {count: 60, variant: mixed, connectRate: 100/s, kinds: {ztunnel: 5, waypoint: 1}}
churn:
  - {kind: pod-delete, rate: 4/s}
  - {kind: pod-add, rate: 2/s}
target: {env: {PILOT_ENABLE_AMBIENT: "true"}}
phases: {steady: 15s}
`

// checkPods checks that each pod that came or went arrived at 50 ztunnels.
func checkPods(t *testing.T, r *result.Result) {
	t.Helper()
	z, p := r.Proxies.ByKind["ztunnel"], r.Propagation
	if z == nil || z.Ready != 50 || z.Deliveries == 0 || z.Undelivered != 0 || z.P50 == nil {
		t.Errorf("ztunnels %+v: want 50 with deliveries", z)
	}
	if p.Expected < 50*60 || p.Expected != p.Deliveries || p.UnknownStates != 0 || p.All == nil || p.All.P50 <= 0 {
		t.Errorf("propagation %+v: want each pod at each ztunnel", p)
	}
	if v := r.Convergence; v.Diverged != 0 {
		t.Errorf("convergence %+v", *v)
	}
	if len(r.Errors) != 0 {
		t.Errorf("errors %q", r.Errors)
	}
}
