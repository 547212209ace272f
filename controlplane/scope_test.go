package controlplane_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// exported is small with web exported to some namespaces.
func exported(to string) []runtime.Object {
	objects := small()
	objects[0].(*corev1.Service).Annotations = map[string]string{"networking.istio.io/exportTo": to}
	return objects
}

// outbound lists the clusters of services among names, by host.
func outbound(names []string) []string {
	out := []string{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if parts := strings.Split(name, "|"); parts[0] == "outbound" {
			out = append(out, parts[1]+parts[2]+" "+strings.TrimSuffix(parts[3], ".svc.cluster.local"))
		}
	}
	return out
}

func TestServiceIsSeenByTheNamespacesItIsExportedTo(t *testing.T) {
	t.Parallel()
	others := []string{"5432 db.data", "7000 peers.data"}
	all := append(slices.Clone(others), "80 web.shop", "9000 web.shop")
	for to, want := range map[string]map[string][]string{
		".":             {"shop": all, "data": others},
		"*":             {"shop": all, "data": all},
		"~":             {"shop": others, "data": others},
		"data, nowhere": {"shop": others, "data": all},
		".,data":        {"shop": all, "data": all, "x": others},
	} {
		p := startPlane(t, nil, exported(to)...)
		for namespace, want := range want {
			c := p.sotw(t, nodeOf("10.0.9.9", "x", namespace))
			c.ask(t, cds)
			r := c.want(t, cds)
			got := outbound(slices.Collect(maps.Keys(clusters(t, r.GetResources()))))
			equalStrings(t, "exported to "+to+", seen in "+namespace, got, want)
			c.ack(t, r)
			c.ask(t, lds)
			seen := slices.Contains(want, "80 web.shop")
			if got := listeners(t, c.want(t, lds).GetResources()); (got["0.0.0.0_80"] != nil) != seen ||
				(got["10.96.0.1_9000"] != nil) != seen {
				t.Errorf("exported to %s, seen in %s: listeners %v", to, namespace, slices.Sorted(maps.Keys(got)))
			}
			c.ask(t, rds, "80")
			if n := len(routes(t, c.want(t, rds).GetResources())["80"].GetVirtualHosts()); (n == 2) != seen {
				t.Errorf("exported to %s, seen in %s: %d virtual hosts", to, namespace, n)
			}
		}
	}
}

func TestDeltaExportChangesWhatANamespaceSees(t *testing.T) {
	t.Parallel()
	p := startPlane(t, nil, small()...)
	c := p.delta(t, nodeOf("10.0.9.9", "x", "data"))
	c.ask(t, cds)
	c.ack(t, c.want(t, cds))
	c.ask(t, lds)
	c.ack(t, c.want(t, lds))
	export := func(to string) {
		web := small()[0].(*corev1.Service)
		web.Annotations = map[string]string{"networking.istio.io/exportTo": to}
		if _, err := p.client.CoreV1().Services("shop").Update(t.Context(), web, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	export(".")
	r := c.want(t, cds)
	equalStrings(t, "clusters", deltaNames(r.GetResources()), nil)
	equalStrings(t, "removed clusters", r.GetRemovedResources(), []string{webHTTP, webTCP})
	c.ack(t, r)
	equalStrings(t, "removed listeners", c.want(t, lds).GetRemovedResources(), []string{"0.0.0.0_80", "10.96.0.1_9000"})

	// A change of what the namespace does not see sends no cluster, and removes none.
	export(". , other")
	equalStrings(t, "removed listeners", c.want(t, lds).GetRemovedResources(), nil)
	export("*")
	equalStrings(t, "clusters", deltaNames(c.want(t, cds).GetResources()), []string{webHTTP, webTCP})
	c.want(t, lds)
	wantSilence(t, c.incoming)
}
