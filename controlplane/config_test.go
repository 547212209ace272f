package controlplane_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
)

// configKinds are the kinds of Istio's objects by plural name.
var configKinds = map[string]string{
	"sidecars": "Sidecar", "destinationrules": "DestinationRule", "virtualservices": "VirtualService",
}

type object = map[string]any

// newConfig returns clients of an API server that has Istio's CRDs.
func newConfig(objects ...runtime.Object) *plane {
	p := withoutCRDs(objects...)
	p.serveKinds()
	return p
}

func withoutCRDs(objects ...runtime.Object) *plane {
	lists := make(map[schema.GroupVersionResource]string)
	for resource, kind := range configKinds {
		lists[kindOf(resource)] = kind + "List"
	}
	return &plane{
		client: kubefake.NewClientset(objects...),
		config: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists),
	}
}

func kindOf(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: resource}
}

func (p *plane) serveKinds() {
	list := &metav1.APIResourceList{GroupVersion: "networking.istio.io/v1"}
	for resource, kind := range configKinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: resource, Kind: kind, Namespaced: true})
	}
	p.client.Lock()
	defer p.client.Unlock()
	p.client.Resources = append(p.client.Resources, list)
}

// apply creates or replaces an object.
func (p *plane) apply(t *testing.T, resource, namespace, name string, spec object) {
	t.Helper()
	o := &unstructured.Unstructured{Object: object{
		"apiVersion": "networking.istio.io/v1", "kind": configKinds[resource],
		"metadata": object{"namespace": namespace, "name": name}, "spec": spec,
	}}
	client := p.config.Resource(kindOf(resource)).Namespace(namespace)
	_, err := client.Create(t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		_, err = client.Update(t.Context(), o, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p *plane) remove(t *testing.T, resource, namespace, name string) {
	t.Helper()
	err := p.config.Resource(kindOf(resource)).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func egress(hosts ...any) object { return object{"egress": []any{object{"hosts": hosts}}} }

func TestSidecarLimitsWhatANamespaceSees(t *testing.T) {
	t.Parallel()
	p := newConfig(small()...)
	for namespace, hosts := range map[string][]any{
		"shop": {"./*"}, "data": {"*/*"}, "a": {"data/*"}, "b": {"shop/web.shop.svc.cluster.local"},
		"c": {"./*", "data/db.data.svc.cluster.local"}, "d": {"*/*.data.svc.cluster.local"}, "e": {"~/*"},
	} {
		p.apply(t, "sidecars", namespace, "default", egress(hosts...))
	}
	runPlane(t, nil, p)
	db, peers, web := "5432 db.data", "7000 peers.data", []string{"80 web.shop", "9000 web.shop"}
	for namespace, want := range map[string][]string{
		"shop": web, "data": {db, peers, web[0], web[1]}, "a": {db, peers}, "b": web,
		"c": {db}, "d": {db, peers}, "e": {}, "other": {db, peers, web[0], web[1]},
	} {
		sotw := p.sotw(t, nodeOf("10.0.9.9", "x", namespace))
		sotw.ask(t, cds)
		got := outbound(slices.Collect(maps.Keys(clusters(t, sotw.want(t, cds).GetResources()))))
		equalStrings(t, "seen in "+namespace, got, want)
		delta := p.delta(t, nodeOf("10.0.9.9", "x", namespace))
		delta.ask(t, cds)
		equalStrings(t, "seen in "+namespace+" over Delta", outbound(deltaNames(delta.want(t, cds).GetResources())), want)
	}
}

func TestSidecarChangeBringsAndTakesClusters(t *testing.T) {
	t.Parallel()
	p := runPlane(t, nil, newConfig(small()...))
	const db, peers = "outbound|5432||db.data.svc.cluster.local", "outbound|7000||peers.data.svc.cluster.local"
	sotw, delta := subscribeSotw(t, p), subscribeDelta(t, p)
	change := func(added, removed []string) {
		t.Helper()
		r := delta.want(t, cds)
		equalStrings(t, "clusters", deltaNames(r.GetResources()), added)
		equalStrings(t, "removed", r.GetRemovedResources(), removed)
		delta.ack(t, r)
		delta.ack(t, delta.want(t, lds))
		delta.ack(t, delta.want(t, rds))
		full := sotw.want(t, cds)
		if got := clusters(t, full.GetResources()); (got[db] != nil) != (len(removed) == 0) {
			t.Errorf("SotW clusters %v", slices.Sorted(maps.Keys(got)))
		}
		sotw.ack(t, full)
		sotw.ack(t, sotw.want(t, lds))
		sotw.ack(t, sotw.want(t, rds), "80")
	}
	p.apply(t, "sidecars", "shop", "default", egress("./*"))
	change(nil, []string{db, peers})
	p.remove(t, "sidecars", "shop", "default")
	change([]string{db, peers}, nil)
}

func TestSidecarBlocksUnknownHosts(t *testing.T) {
	t.Parallel()
	p := runPlane(t, nil, newConfig(small()...))
	c := p.sotw(t, nodeOf("10.0.9.9", "x", "shop"))
	c.ask(t, rds, "80")
	c.ack(t, c.want(t, rds), "80")
	p.apply(t, "sidecars", "shop", "default", object{"outboundTrafficPolicy": object{"mode": "REGISTRY_ONLY"}})
	hosts := routes(t, c.want(t, rds).GetResources())["80"].GetVirtualHosts()
	if len(hosts) != 2 || hosts[1].GetName() != "block_all" {
		t.Errorf("virtual hosts %v", hosts)
	}
}

func TestEgressPortIsAListener(t *testing.T) {
	t.Parallel()
	p := runPlane(t, nil, newConfig(small()...))
	c := subscribeDelta(t, p)
	bind := func(port int64, protocol string) {
		p.apply(t, "sidecars", "shop", "default", object{"egress": []any{
			object{
				"port": object{"number": port, "protocol": protocol, "name": "x"}, "bind": "127.0.0.1",
				"hosts": []any{"data/*"},
			},
			object{"hosts": []any{"*/*"}},
		}})
	}
	has := func(name string, removed ...string) {
		t.Helper()
		r := c.want(t, lds)
		if got := listeners(t, unwrap(t, r.GetResources())); got[name] == nil {
			t.Errorf("no listener %s among %v", name, slices.Sorted(maps.Keys(got)))
		}
		equalStrings(t, "removed", r.GetRemovedResources(), removed)
		c.ack(t, r)
		c.ack(t, c.want(t, rds))
	}
	bind(5432, "TCP")
	has("127.0.0.1_5432")
	bind(80, "HTTP")
	has("127.0.0.1_80", "127.0.0.1_5432")
}

func TestDestinationRuleSetsTheConnectTimeout(t *testing.T) {
	t.Parallel()
	p := runPlane(t, nil, newConfig(small()...))
	sotw, delta := subscribeSotw(t, p), subscribeDelta(t, p)
	want := func(timeout time.Duration) {
		t.Helper()
		r := delta.want(t, cds)
		equalStrings(t, "clusters", deltaNames(r.GetResources()), []string{webHTTP, webTCP})
		delta.ack(t, r)
		equalStrings(t, "endpoints", deltaNames(delta.want(t, eds).GetResources()), []string{webHTTP, webTCP})
		delta.ack(t, delta.want(t, lds))
		delta.ack(t, delta.want(t, rds))
		full := sotw.want(t, cds)
		got := clusters(t, full.GetResources())[webTCP].GetConnectTimeout().AsDuration()
		if got != timeout {
			t.Errorf("connect timeout %s, want %s", got, timeout)
		}
		sotw.ack(t, full)
		sotw.ack(t, sotw.want(t, eds), webHTTP, webTCP)
		sotw.ack(t, sotw.want(t, lds))
		sotw.ack(t, sotw.want(t, rds), "80")
	}
	rule := func(timeout string) object {
		return object{
			"host":          "web.shop.svc.cluster.local",
			"trafficPolicy": object{"connectionPool": object{"tcp": object{"connectTimeout": timeout}}},
		}
	}
	p.apply(t, "destinationrules", "shop", "web", rule("1.500s"))
	want(1500 * time.Millisecond)
	p.apply(t, "destinationrules", "shop", "web", rule("2s"))
	want(2 * time.Second)
	p.apply(t, "destinationrules", "shop", "web", rule("2s")) // no news
	p.remove(t, "destinationrules", "shop", "web")
	want(10 * time.Second)
	wantSilence(t, sotw.incoming)
	wantSilence(t, delta.incoming)
}

func TestSubsetIsAClusterOfThePodsWithItsLabels(t *testing.T) {
	t.Parallel()
	p := runPlane(t, nil, newConfig(small()...))
	p.apply(t, "destinationrules", "shop", "web", object{"host": "web", "subsets": []any{
		object{"name": "v1", "labels": object{"app": "web"}},
		object{"name": "v2", "labels": object{"app": "web", "version": "2"}},
	}})
	const v1, v2 = "outbound|80|v1|web.shop.svc.cluster.local", "outbound|80|v2|web.shop.svc.cluster.local"
	sotw, delta := p.sotw(t, nodeOf("10.9.9.9", "x", "shop")), p.delta(t, nodeOf("10.9.9.9", "x", "shop"))
	eventually(t, "the subsets have endpoints", func() bool {
		sotw.ask(t, eds, v1, v2)
		got := assignments(t, sotw.want(t, eds).GetResources())
		return len(describe(got[v1])) == 1 && len(describe(got[v2])) == 0
	})
	delta.ask(t, cds)
	want := []string{"5432 db.data", "7000 peers.data", "80 web.shop", "9000 web.shop", "80v1 web.shop", "9000v1 web.shop", "80v2 web.shop", "9000v2 web.shop"}
	got := outbound(deltaNames(delta.want(t, cds).GetResources()))
	slices.Sort(got)
	equalStrings(t, "clusters", got, slices.Sorted(slices.Values(want)))
	delta.ask(t, eds, v1, v2)
	delta.ack(t, delta.want(t, eds))

	// A pod that moves between subsets is an endpoint change.
	pod := small()[5].(*corev1.Pod)
	pod.Labels["version"] = "2"
	if _, err := p.client.CoreV1().Pods("shop").Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	r := delta.want(t, eds)
	equalStrings(t, "changed", deltaNames(r.GetResources()), []string{v2})
	moved := describe(assignments(t, unwrap(t, r.GetResources()))[v2])
	equalStrings(t, "endpoints", moved, []string{"r1/z1 10.0.0.1:8080 HEALTHY"})
	wantSilence(t, delta.incoming)
}

func TestVirtualServiceNamesTheRouteToItsHost(t *testing.T) {
	t.Parallel()
	p := runPlane(t, nil, newConfig(small()...))
	sotw, delta := subscribeSotw(t, p), subscribeDelta(t, p)
	want := func(name string, timeout time.Duration) {
		t.Helper()
		delta.ack(t, delta.want(t, lds)) // no CDS: no cluster has changed
		r := delta.want(t, rds)
		delta.ack(t, r)
		sotw.ack(t, sotw.want(t, cds))
		sotw.ack(t, sotw.want(t, lds))
		full := sotw.want(t, rds)
		sotw.ack(t, full, "80")
		if !slices.EqualFunc(unwrap(t, r.GetResources()), full.GetResources(), sameBytes) {
			t.Error("the variants differ")
		}
		route := routes(t, full.GetResources())["80"].GetVirtualHosts()[0].GetRoutes()[0]
		if route.GetName() != name || route.GetRoute().GetTimeout().AsDuration() != timeout {
			t.Errorf("route %v, want name %s and timeout %s", route, name, timeout)
		}
	}
	rule := object{"hosts": []any{"web.shop.svc.cluster.local"}, "http": []any{object{
		"name": "marked", "timeout": "3s",
		"route": []any{object{"destination": object{"host": "web.shop.svc.cluster.local"}}},
	}}}
	p.apply(t, "virtualservices", "shop", "web", rule)
	want("marked", 3*time.Second)
	p.remove(t, "virtualservices", "shop", "web")
	want("default", 0)
}

func TestConfigObjectsAreFoundWhenTheirKindsAppear(t *testing.T) {
	t.Parallel()
	p := runPlane(t, nil, withoutCRDs(small()...))
	p.apply(t, "sidecars", "shop", "default", egress("./*"))
	c := subscribeSotw(t, p)
	wantSilence(t, c.incoming)
	p.serveKinds()
	got := outbound(slices.Collect(maps.Keys(clusters(t, c.want(t, cds).GetResources()))))
	equalStrings(t, "clusters", got, []string{"80 web.shop", "9000 web.shop"})
}
