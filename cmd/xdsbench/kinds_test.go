package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/result"
)

// everyKind is a profile that makes each of some kinds of change a few times, all at once.
// After the time hold what can be undone is undone; 0s is never.
func everyKind(t *testing.T, hold string, kinds []string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`
mesh: {namespaces: 3, services: 100, endpointsPerService: 4, ports: 2, headless: 0.2}
proxies: {count: 10, variant: mixed, kinds: {sidecar: 4, router: 1}}
phases: {idle: 0s, warmup: 1s, steady: 12s, drain: 20s}
churn:
`)
	for _, kind := range kinds {
		more, delay := "", "500ms"
		switch kind {
		case "headless-pod":
			if hold == "0s" { // long enough for nobody to think that it was merged away
				delay = "10s"
			}
		case "scale-to":
			more = ", size: 8"
		case "node-drain", "node-loss", "zone-loss": // others want services that nothing has touched
			more = ", start: 8s"
		}
		fmt.Fprintf(&b, "- {kind: %s, count: 2, hold: %s, delay: %s%s}\n", kind, hold, delay, more)
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

// embeddedKinds are those that the embedded control plane knows, without Sidecars, of
// which there is one at a time.
func embeddedKinds() []string {
	return append(kindsThat(churn.NeedsNothing, churn.NeedsListeners),
		"virtual-service-add", "virtual-service-update", "virtual-service-remove",
		"destination-rule-add", "destination-rule-update", "destination-rule-remove")
}

func TestEveryKindOfChangeIsDelivered(t *testing.T) {
	t.Parallel()
	kinds := embeddedKinds()
	dir := out(t)
	code, stdout, stderr := command(t.Context(), "run", "--quiet", "-o", dir, "-f", everyKind(t, "1s", kinds))
	if code != exitDone {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	checkEveryKind(t, load(t, dir), kinds)
}

// TestAWrongControlPlaneIsCaughtInEveryKindOfChange has the embedded control plane keep
// from proxies what a change should have sent: all of it, or one type alone, so that it is
// applied by half.
func TestAWrongControlPlaneIsCaughtInEveryKindOfChange(t *testing.T) {
	t.Parallel()
	kinds := embeddedKinds()
	// A change that is undone leaves a proxy right that was never told, so none is here. What
	// changes nothing that a proxy can see is not in the lists.
	of := func(prefixes ...string) []string {
		return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool {
			return !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(kind, p) })
		})
	}
	for stale, caught := range map[string][]string{
		"eds,cds,lds,rds": of("pod-", "rolling-", "scale-", "readiness-", "node-", "zone-", "last-", "endpoint-", "target-",
			"port-", "service-", "namespace-", "headless-", "first-", "virtual-", "destination-"),
		"rds": of("service-", "namespace-", "virtual-"),
	} {
		for _, variant := range []string{"sotw", "delta"} {
			t.Run(stale+" "+variant, func(t *testing.T) {
				t.Parallel()
				dir := out(t)
				code, _, stderr := command(t.Context(), "run", "--quiet", "-o", dir, "-f", everyKind(t, "0s", kinds), "--variant", variant, "--set", "phases.drain=2s",
					"--set", "target.env.XDSBENCH_FAULT_STALE=1", "--set", "target.env.XDSBENCH_FAULT_TYPES="+stale)
				if code != exitDefects {
					t.Fatalf("exit %d, want %d: %s", code, exitDefects, stderr)
				}
				undelivered := undeliveredOf(t, filepath.Join(dir, "mutations.csv"))
				for _, kind := range kinds {
					if slices.Contains(caught, kind) && undelivered[kind] == 0 {
						t.Errorf("%s: what is stale is not noticed", kind)
					}
				}
				if load(t, dir).Convergence.Diverged == 0 {
					t.Error("no proxy ends in a wrong state")
				}
			})
		}
	}
}

// undeliveredOf returns how many pairs of each kind of change were undelivered.
func undeliveredOf(t *testing.T, file string) map[string]int {
	t.Helper()
	rows := readCSV(t, file)
	kind, undelivered := slices.Index(rows[0], "kind"), slices.Index(rows[0], "undelivered")
	out := map[string]int{}
	for _, row := range rows[1:] {
		n, err := strconv.Atoi(row[undelivered])
		if err != nil {
			t.Fatal(err)
		}
		out[row[kind]] += n
	}
	return out
}

func TestConfigKindsAreKindsOfChange(t *testing.T) {
	t.Parallel()
	all := kindsThat(churn.NeedsConfig)
	if want := 3 * len(mesh.ConfigKinds()); len(all) != want {
		t.Errorf("%d kinds change config objects, want %d: %v", len(all), want, all)
	}
}
