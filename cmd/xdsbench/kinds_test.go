package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/result"
)

// everyKind is a profile that makes each of some kinds of change a few times, all at once.
func everyKind(t *testing.T, kinds []string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`
mesh: {namespaces: 3, services: 100, endpointsPerService: 4, ports: 2, headless: 0.2}
proxies: {count: 10, variant: mixed, kinds: {sidecar: 4, router: 1}}
phases: {idle: 0s, steady: 12s}
churn:
`)
	for _, kind := range kinds {
		more := ""
		switch kind {
		case "scale-to":
			more = ", size: 8"
		case "node-drain", "node-loss", "zone-loss": // others want services that nothing has touched
			more = ", start: 8s"
		}
		fmt.Fprintf(&b, "- {kind: %s, count: 2, hold: 1s, delay: 500ms%s}\n", kind, more)
	}
	return profile(t, b.String())
}

// checkEveryKind makes sure that each kind was applied, and that nothing went wrong.
func checkEveryKind(t *testing.T, r *result.Result, kinds []string) {
	t.Helper()
	p, v := r.Propagation, r.Convergence
	if p.Deliveries == 0 || p.Undelivered != 0 || p.UnknownStates != 0 || v.Diverged != 0 || p.Interrupted != 0 {
		t.Errorf("delivered %d, undelivered %d, unknown states %d, interrupted %d, diverged %d",
			p.Deliveries, p.Undelivered, p.UnknownStates, p.Interrupted, v.Diverged)
	}
	for _, kind := range kinds {
		if r.Mutations.ByKind[kind] == 0 {
			t.Errorf("%s: nothing was written", kind)
		}
	}
}

// kindsThat lists the kinds of change that need no more of a control plane.
func kindsThat(needs ...churn.Needs) []string {
	var out []string
	for _, kind := range churn.Kinds() {
		for _, n := range needs {
			if churn.NeedsOf(kind) == n {
				out = append(out, kind)
			}
		}
	}
	return out
}

func TestEveryKindOfChangeIsDelivered(t *testing.T) {
	t.Parallel()
	kinds := append(kindsThat(churn.NeedsNothing, churn.NeedsListeners),
		"virtual-service-add", "virtual-service-update", "virtual-service-remove",
		"destination-rule-add", "destination-rule-update", "destination-rule-remove")
	dir := out(t)
	code, stdout, stderr := command(t.Context(), "run", "--quiet", "-o", dir, "-f", everyKind(t, kinds))
	if code != exitDone {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	checkEveryKind(t, load(t, dir), kinds)
}

func TestConfigKindsAreKindsOfChange(t *testing.T) {
	t.Parallel()
	all := kindsThat(churn.NeedsConfig)
	if want := 3 * len(mesh.ConfigKinds()); len(all) != want {
		t.Errorf("%d kinds change config objects, want %d: %v", len(all), want, all)
	}
}
