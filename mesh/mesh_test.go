package mesh_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/mesh"
)

// newMesh makes a mesh from the default spec with some changes.
func newMesh(tb testing.TB, change func(*mesh.Config)) *mesh.Mesh {
	tb.Helper()
	cfg := mesh.Config{Spec: mesh.DefaultSpec(), Proxies: 12, Seed: 7, RunID: "test"}
	if change != nil {
		change(&cfg)
	}
	m, err := mesh.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// dump writes all objects of the mesh as JSON.
func dump(t *testing.T, m *mesh.Mesh) string {
	t.Helper()
	var b strings.Builder
	for o := range m.Objects() {
		if err := json.NewEncoder(&b).Encode(o); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func mixed(cfg *mesh.Config) {
	cfg.Headless, cfg.Distribution, cfg.Ports = 0.25, "zipf", 3
}

func TestSameConfigGivesTheSameObjectsByteForByte(t *testing.T) {
	t.Parallel()
	first, second := newMesh(t, mixed), newMesh(t, mixed)
	if diff := cmp.Diff(dump(t, first), dump(t, second)); diff != "" {
		t.Errorf("two meshes of one config differ:\n%s", diff)
	}
	other := newMesh(t, func(cfg *mesh.Config) { mixed(cfg); cfg.Seed++ })
	if dump(t, first) == dump(t, other) {
		t.Error("another seed gives the same mesh")
	}
}

func TestObjectsComeInTheOrderOfCreation(t *testing.T) {
	t.Parallel()
	m := newMesh(t, nil)
	var kinds []string
	counts := map[string]int{}
	for o := range m.Objects() {
		kind := fmt.Sprintf("%T", o)
		counts[kind]++
		if len(kinds) == 0 || kinds[len(kinds)-1] != kind {
			kinds = append(kinds, kind)
		}
	}
	want := []string{"*v1.Namespace", "*v1.Node", "*v1.Service", "*v1.ServiceAccount", "*v1.Pod", "*v1.EndpointSlice"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("order of kinds (-want +got):\n%s", diff)
	}
	wantCounts := map[string]int{
		"*v1.Namespace": 5, "*v1.Node": 6, "*v1.Service": 105, "*v1.ServiceAccount": 105, "*v1.Pod": 512, "*v1.EndpointSlice": 105,
	}
	if diff := cmp.Diff(wantCounts, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	seen := 0
	for range m.Objects() {
		if seen++; seen == 20 {
			break
		}
	}
	if seen != 20 {
		t.Errorf("stopped after %d objects, want 20", seen)
	}
}

func TestEveryObjectCarriesTheRunLabels(t *testing.T) {
	t.Parallel()
	for o := range newMesh(t, mixed).Objects() {
		object, ok := o.(interface{ GetLabels() map[string]string })
		if !ok {
			t.Fatalf("%T has no labels", o)
		}
		got := object.GetLabels()
		if got[mesh.ManagedByLabel] != mesh.ManagedByValue || got[mesh.RunLabel] != "test" {
			t.Errorf("%T: labels %v", o, got)
		}
	}
}

func TestDistributionsKeepTheMean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		distribution      string
		services, mean    int
		smallest, largest int
	}{
		{"uniform", 40, 10, 10, 10},
		{"zipf", 40, 10, 3, 85},
		{"zipf", 7, 1, 1, 1},
		{"zipf", 1, 250, 250, 250},
	} {
		m := newMesh(t, func(cfg *mesh.Config) {
			cfg.Distribution, cfg.Services, cfg.EndpointsPerService = c.distribution, c.services, c.mean
		})
		var sizes []int
		total := 0
		for _, s := range m.Services {
			sizes = append(sizes, len(s.Pods()))
			total += len(s.Pods())
		}
		if total != c.services*c.mean {
			t.Errorf("%s %d x %d: %d endpoints in all", c.distribution, c.services, c.mean, total)
		}
		if slices.Min(sizes) != c.smallest || slices.Max(sizes) != c.largest {
			t.Errorf("%s %d x %d: from %d to %d endpoints, want %d to %d",
				c.distribution, c.services, c.mean, slices.Min(sizes), slices.Max(sizes), c.smallest, c.largest)
		}
	}
}

func TestSlicesFillToAHundredEndpoints(t *testing.T) {
	t.Parallel()
	m := newMesh(t, func(cfg *mesh.Config) { cfg.Services, cfg.EndpointsPerService, cfg.Ports = 2, 250, 2 })
	s := m.Services[1]
	var sizes []int
	for i, slice := range s.Slices() {
		sizes = append(sizes, len(slice.Endpoints))
		if want := fmt.Sprintf("svc-1-%d", i); slice.Name != want || s.SliceKey(i) != "xb-1/"+want {
			t.Errorf("slice %d is named %s, key %s", i, slice.Name, s.SliceKey(i))
		}
		if slice.Labels[discoveryv1.LabelServiceName] != "svc-1" || slice.Labels[discoveryv1.LabelManagedBy] != "xdsbench.io" {
			t.Errorf("slice labels %v", slice.Labels)
		}
		if slice.AddressType != discoveryv1.AddressTypeIPv4 || len(slice.Ports) != 2 || *slice.Ports[0].Port != 8080 {
			t.Errorf("slice %s: address type %s, ports %v", slice.Name, slice.AddressType, slice.Ports)
		}
	}
	if diff := cmp.Diff([]int{100, 100, 50}, sizes); diff != "" {
		t.Errorf("sizes of slices (-want +got):\n%s", diff)
	}
}

func TestOnlyFleetServicesSelectTheirPods(t *testing.T) {
	t.Parallel()
	m := newMesh(t, nil)
	for _, s := range m.Services {
		if s.Object().Spec.Selector != nil {
			t.Errorf("%s has a selector: the EndpointSlice controller would rewrite its slices", s.Key())
		}
	}
	for i, p := range m.Proxies {
		s := m.Service(p.Namespace + "/" + p.Service)
		if s != m.Fleet[i%len(m.Fleet)] {
			t.Fatalf("proxy %d is of service %s/%s", i, p.Namespace, p.Service)
		}
		if got := s.Object().Annotations["networking.istio.io/exportTo"]; got != "~" {
			t.Errorf("%s is exported to %q", s.Key(), got)
		}
		selector := labels.SelectorFromSet(s.Object().Spec.Selector)
		if !selector.Matches(labels.Set(p.Labels)) {
			t.Errorf("proxy %d: labels %v do not match %v", i, p.Labels, selector)
		}
		if selector.Matches(labels.Set(m.Services[0].Pods()[0].Labels)) {
			t.Errorf("selector %v matches another service's pods", selector)
		}
	}
}

func TestAddressesAreUniqueAndPodsStandOnTheirNodes(t *testing.T) {
	t.Parallel()
	m := newMesh(t, mixed)
	nodes := map[string]*corev1.Node{}
	for _, n := range m.Nodes {
		nodes[n.Name] = n
	}
	pods := map[string]*corev1.Pod{}
	addresses := map[string]bool{}
	for o := range m.Objects() {
		switch o := o.(type) {
		case *corev1.Pod:
			if addresses[o.Status.PodIP] || o.Status.PodIP == "" {
				t.Errorf("pod %s: address %q is taken", o.Name, o.Status.PodIP)
			}
			addresses[o.Status.PodIP] = true
			pods[o.Namespace+"/"+o.Name] = o
			if nodes[o.Spec.NodeName] == nil {
				t.Errorf("pod %s: no node %q", o.Name, o.Spec.NodeName)
			}
		case *discoveryv1.EndpointSlice:
			for _, e := range o.Endpoints {
				pod := pods[e.TargetRef.Namespace+"/"+e.TargetRef.Name]
				if pod == nil || pod.Status.PodIP != e.Addresses[0] || pod.Spec.NodeName != *e.NodeName {
					t.Fatalf("slice %s: endpoint %v is not its pod", o.Name, e)
				}
				if zone := nodes[*e.NodeName].Labels[corev1.LabelTopologyZone]; zone != *e.Zone || zone == "" {
					t.Errorf("slice %s: zone %q, the node's is %q", o.Name, *e.Zone, zone)
				}
			}
		}
	}
}

func TestEachPortIsAClusterAndHeadlessServicesHaveNone(t *testing.T) {
	t.Parallel()
	m := newMesh(t, func(cfg *mesh.Config) { cfg.Ports, cfg.Headless = 2, 0.3 })
	headless := 0
	for s := range m.All() {
		if s.Headless() {
			headless++
			if s.Object().Spec.ClusterIP != corev1.ClusterIPNone || s.States() != nil || s.Usable() != nil {
				t.Errorf("%s: headless with clusterIP %q, states %v", s.Key(), s.Object().Spec.ClusterIP, s.States())
			}
			continue
		}
		namespace, name, _ := strings.Cut(s.Key(), "/")
		for i, port := range []string{"80", "9001"} {
			got := s.States()[i]
			if want := "outbound|" + port + "||" + name + "." + namespace + ".svc.cluster.local"; got.Name != want {
				t.Errorf("cluster %s, want %s", got.Name, want)
			}
			if sum := event.FingerprintOf(s.Usable()[got.Name]); sum != got.State {
				t.Errorf("%s: usable endpoints add up to %x, state is %x", got.Name, sum, got.State)
			}
		}
	}
	if headless != 30 {
		t.Errorf("%d of 100 services are headless, want 30", headless)
	}
}

func TestClusterNamesFollowTheTemplate(t *testing.T) {
	t.Parallel()
	m := newMesh(t, func(cfg *mesh.Config) { cfg.ClusterName = "{namespace}/{service}:{portName}" })
	if got := m.Services[3].States()[0].Name; got != "xb-3/svc-3:http-80" {
		t.Errorf("cluster %q", got)
	}
}

func TestValidateListsEveryProblem(t *testing.T) {
	t.Parallel()
	err := mesh.Spec{Services: -3, EndpointsPerService: 5, Ports: 33, Headless: 1.5, Distribution: "normal"}.Validate()
	want := []string{
		"mesh.namespaces: 0: must be at least 1",
		"mesh.services: -3: must be at least 1",
		"mesh.ports: 33: must be at most 32",
		"mesh.headless: 1.5: must be a share from 0 to 1",
		`mesh.distribution: "normal": must be "uniform" or "zipf"`,
		`mesh.scope: "": must be one of mesh, namespace, exportTo, subscribed`,
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if err := mesh.DefaultSpec().Validate(); err != nil {
		t.Errorf("the defaults are invalid: %v", err)
	}
	tooMany := mesh.DefaultSpec()
	tooMany.Services, tooMany.EndpointsPerService = 100_000, 1_000
	if err := tooMany.Validate(); err == nil || !strings.Contains(err.Error(), "10.0.0.0/8") {
		t.Errorf("100 million endpoints: error %v", err)
	}
}

func TestNewRefusesConfigsThatCannotWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*mesh.Config)
		want   string
	}{
		"too many proxies":    {func(c *mesh.Config) { c.Proxies = 10_000_000 }, "proxies.count: 10000000"},
		"run ID":              {func(c *mesh.Config) { c.RunID = "a b" }, "run ID"},
		"namespace prefix":    {func(c *mesh.Config) { c.NamespacePrefix = "X_" }, "namespace prefix"},
		"unknown placeholder": {func(c *mesh.Config) { c.ClusterName = "{service}-{subset}-{port}" }, "{subset}"},
		"no service":          {func(c *mesh.Config) { c.ClusterName = "{port}" }, "{service}"},
		"no port":             {func(c *mesh.Config) { c.ClusterName, c.Ports = "{service}", 2 }, "{portName}"},
		"invalid spec":        {func(c *mesh.Config) { c.Services = 0 }, "mesh.services"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := mesh.Config{Spec: mesh.DefaultSpec()}
			c.change(&cfg)
			if _, err := mesh.New(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}
