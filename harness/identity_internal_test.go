package harness

import (
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/node"
	"github.com/xdsbench/xdsbench/mesh"
)

func TestCrewHasTheKindsOfTheProfileEachInBothVariants(t *testing.T) {
	spec := fakeproxy.DefaultSpec()
	spec.Variant = fakeproxy.VariantMixed
	spec.Kinds = node.Shares{"sidecar": 1, "router": 1, "waypoint": 1, "ztunnel": 1}
	c := rosterOf(standalonePods(400, "ns"), spec)
	counts := map[string]int{}
	for i := range c.identities {
		kind, _, _ := strings.Cut(c.identities[i].ID, "~")
		if kind != c.kinds[i] || c.identities[i].Variant != c.variants[i] {
			t.Fatalf("proxy %d: %s, %s: %+v", i, c.kinds[i], c.variants[i], c.identities[i])
		}
		counts[kind+" "+c.variants[i].String()]++
	}
	for _, kind := range node.Kinds() {
		want := [2]int{xds.SotW: 50, xds.Delta: 50}
		if kind == node.Ztunnel {
			want = [2]int{xds.Delta: 100}
		}
		if got := [2]int{counts[kind+" sotw"], counts[kind+" delta"]}; got != want {
			t.Errorf("%s: SotW and Delta %v, want %v", kind, got, want)
		}
	}
}

func TestIdentitiesSayWhatIstiodReadsOfEachKind(t *testing.T) {
	pod := &standalonePods(1, "ns")[0]
	for kind, want := range map[string]map[string]any{
		node.Router:   {"istio": "ingressgateway", "app": "xdsbench"},
		node.Waypoint: {"gateway.istio.io/managed": "istio.io-mesh-controller", "gateway.networking.k8s.io/gateway-name": "xdsbench"},
		node.Ztunnel:  {"app": "xdsbench"},
	} {
		id := identity(pod, kind, xds.Delta)
		if id.ID != kind+"~198.18.0.1~xdsbench-0.ns~ns.svc.cluster.local" {
			t.Errorf("%s: node ID %q", kind, id.ID)
		}
		own, ok := id.Metadata()["LABELS"].(map[string]any)
		for name, value := range want {
			if !ok || own[name] != value {
				t.Errorf("%s: label %s: %v, want %v", kind, name, own[name], value)
			}
		}
		if asksForWorkloads := len(id.Roots) > 0; asksForWorkloads != (kind == node.Ztunnel) {
			t.Errorf("%s: roots %v", kind, id.Roots)
		}
	}
}

func TestStrangersHaveAddressesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, pod := range standalonePods(70_000, "ns") {
		if seen[pod.IP] || !strings.HasPrefix(pod.IP, "198.18.") && !strings.HasPrefix(pod.IP, "198.19.") {
			t.Fatalf("address %s of %s", pod.IP, pod.Name)
		}
		seen[pod.IP] = true
	}
}

func TestScopeAndKindSayWhoBelongsToAnAudience(t *testing.T) {
	t.Parallel()
	r := roster{
		kinds:      []string{node.Sidecar, node.Waypoint, node.Ztunnel, node.Sidecar},
		namespaces: []string{"a", "a", "b", "b"},
	}
	for _, test := range []struct {
		scope    string
		audience event.Audience
		want     []bool
	}{
		{mesh.ScopeMesh, event.Audience{}, []bool{true, false, false, true}},
		{mesh.ScopeSubscribed, event.Audience{}, []bool{false, false, false, false}},
		{mesh.ScopeMesh, event.Audience{Namespaces: []string{"b"}}, []bool{false, false, false, true}},
		{mesh.ScopeMesh, event.Audience{Kinds: []string{node.Ztunnel}}, []bool{false, false, true, false}},
		{mesh.ScopeMesh, event.Audience{Kinds: []string{node.Ztunnel}, Namespaces: []string{"a"}}, []bool{false, false, false, false}},
	} {
		member := r.member(test.scope)
		for p, want := range test.want {
			if got := member(&test.audience, p); got != want {
				t.Errorf("scope %s, audience %+v, proxy %d: %v, want %v", test.scope, test.audience, p, got, want)
			}
		}
	}
}
