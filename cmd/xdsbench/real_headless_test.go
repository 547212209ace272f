//go:build realstack

package main

import (
	"strconv"
	"testing"
)

// TestRealIstiodHeadlessListenersGrowWithThePods measures what headless services cost:
// each pod is a listener at every proxy, and each change of a pod sends all of them.
func TestRealIstiodHeadlessListenersGrowWithThePods(t *testing.T) {
	const proxies = 20
	perProxy := make(map[int]float64)
	for _, pods := range []int{10, 100, 1000} {
		r := realRun(t, "-f", profile(t, `
mesh: {namespaces: 1, services: 2, ports: 2, headless: 0.5}
proxies: {variant: mixed}
phases: {steady: 10s}
churn:
- {kind: headless-pod, count: 5}
`), "--set", "mesh.endpointsPerService="+strconv.Itoa(pods), "--proxies", strconv.Itoa(proxies))
		p := r.Propagation
		if p.Deliveries == 0 || p.Undelivered+p.UnknownStates+int64(r.Convergence.Diverged) != 0 {
			t.Errorf("%d pods: delivered %d, undelivered %d, unknown states %d, diverged %d",
				pods, p.Deliveries, p.Undelivered, p.UnknownStates, r.Convergence.Diverged)
		}
		lds := r.Volume.ByType["lds"]
		if eds := r.Volume.ByType["eds"]; lds.Responses < 10*proxies || eds.Responses != 0 {
			t.Errorf("%d pods: %d LDS and %d EDS responses to 10 changes at %d proxies", pods, lds.Responses, eds.Responses, proxies)
		}
		perProxy[pods] = float64(r.Sync.Volume.ByType["lds"].Bytes) / proxies
	}
	low, high := (perProxy[100]-perProxy[10])/90, (perProxy[1000]-perProxy[100])/900
	t.Logf("LDS bytes per proxy: %v; per pod %.0f and %.0f", perProxy, low, high)
	if low < 200 || high < low*0.9 || high > low*1.1 {
		t.Errorf("LDS grows by %.0f bytes per pod up to 100 and by %.0f beyond: not linear", low, high)
	}
}
