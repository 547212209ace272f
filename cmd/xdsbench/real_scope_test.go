//go:build realstack

package main

import "testing"

// TestRealIstiodScopedToNamespacesSendsEachProxyATwentieth compares a mesh of 20
// namespaces that everybody sees with the same one in which proxies see their own
// namespace, by Sidecar objects and by exportTo.
func TestRealIstiodScopedToNamespacesSendsEachProxyATwentieth(t *testing.T) {
	type figures struct {
		config float64
		pairs  int64
	}
	of := make(map[string]figures)
	for _, scope := range []string{"mesh", "namespace", "exportTo"} {
		r := realRun(t, "smoke", "--set", "mesh.namespaces=20", "--set", "mesh.services=400", "--set", "mesh.scope="+scope,
			"--proxies", "60", "--variant", "mixed", "--rate", "5/s", "--duration", "10s")
		if p, v := r.Propagation, r.Convergence; p.Undelivered+p.UnknownStates+int64(v.Diverged) != 0 || v.MissingClusters != 0 {
			t.Errorf("scope %s: undelivered %d, unknown states %d, diverged %d, missing clusters %d",
				scope, p.Undelivered, p.UnknownStates, v.Diverged, v.MissingClusters)
		}
		of[scope] = figures{r.Sync.ConfigBytesPerProxy.Mean, r.Propagation.Expected}
	}
	for _, scope := range []string{"namespace", "exportTo"} {
		if got := of[scope].pairs * 20; got != of["mesh"].pairs {
			t.Errorf("scope %s: %d pairs, want a twentieth of %d", scope, of[scope].pairs, of["mesh"].pairs)
		}
		// A part of a proxy's config, about 16 kB, does not come from services.
		if factor := of["mesh"].config / of[scope].config; factor < 10 || factor > 20 {
			t.Errorf("scope %s: config per proxy falls by a factor of %.1f, want 10 to 20", scope, factor)
		}
	}
}
