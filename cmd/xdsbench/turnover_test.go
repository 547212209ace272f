package main

import (
	"testing"

	"github.com/xdsbench/xdsbench/result"
)

// rollout is a profile in which one service of 20 pods is rolled, each with its proxy.
const rollout = `
mesh: {services: 10, namespaces: 2, endpointsPerService: 20}
proxies: {count: 40, variant: mixed, connectRate: 200/s, turnover: {share: 1}}
churn:
  - {kind: rolling-update, count: 1, maxSurge: 2, readyDelay: 200ms, delay: 200ms, target: hot}
phases: {steady: 15s}
`

// checkRollout checks that everybody who came and went in the rollout is accounted for.
func checkRollout(t *testing.T, r *result.Result) {
	t.Helper()
	if p := r.Proxies; p.Joined != 20 || p.Left != 20 || p.Requested != 60 || p.Ready != 60 || p.Disconnects != 0 {
		t.Errorf("proxies %+v: want 20 of 60 to join, 20 to leave", *p)
	}
	if j := r.Sync.Joined; j == nil || j.Count != 20 || r.Sync.TimeToReady.Count != 40 {
		t.Errorf("time to ready of %+v joiners and of %+v others", j, r.Sync.TimeToReady)
	}
	p := r.Propagation
	if p.Undelivered+p.UnknownStates+p.Interrupted+p.Pending != 0 || len(r.Errors) != 0 {
		t.Errorf("undelivered %d, unknown states %d, interrupted %d, pending %d; errors %q", p.Undelivered, p.UnknownStates, p.Interrupted, p.Pending, r.Errors)
	}
	if p.Expected == 0 || p.Expected != p.Deliveries+p.Retired {
		t.Errorf("%d pairs: %d delivered, %d retired", p.Expected, p.Deliveries, p.Retired)
	}
	if v := r.Convergence; v.Diverged != 0 || *v.StuckWarming != 0 {
		t.Errorf("convergence %+v", *v)
	}
	seen, per := p.PushesPerProxy, p.MutationsPerPush
	if seen == nil || per == nil || seen.Count != 60 || per.Mean < 1 || per.Mean*float64(per.Count) > float64(p.Deliveries)*1.01 {
		t.Fatalf("pushes per proxy %+v, mutations per push %+v", seen, per)
	}
	t.Logf("pushes per proxy: mean %.1f, max %.0f; mutations per push: mean %.2f, max %.0f; joiners ready: p50 %.3f s; %d pairs, %d retired",
		seen.Mean, seen.Max, per.Mean, per.Max, r.Sync.Joined.P50, p.Expected, p.Retired)
}

func TestRolloutReplacesTheProxiesOfItsPods(t *testing.T) {
	t.Parallel()
	dir := out(t)
	code, stdout, stderr := command(t.Context(), "run", "-f", profile(t, rollout), "--quiet", "-o", dir)
	if code != exitDone {
		t.Fatalf("exit %d:\n%s%s", code, stdout, stderr)
	}
	checkRollout(t, load(t, dir))
}
