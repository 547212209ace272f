package controlplane_test

import (
	"maps"
	"slices"
	"testing"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// small is a mesh of three services: "web" with HTTP and TCP and a pod at
// 10.0.0.1, "db" with TCP, and a headless "peers".
func small() []runtime.Object {
	web := makeService("shop", "web", "10.96.0.1", httpPort(), tcpPort(9000))
	web.Spec.Selector = map[string]string{"app": "web"}
	zone, node := "z9", "node-1"
	first := ready("10.0.0.1")
	first.NodeName = &node
	second := unready("10.0.0.2")
	second.Zone = &zone
	return []runtime.Object{
		web,
		makeService("data", "db", "10.96.0.2", tcpPort(5432)),
		makeService("data", "peers", corev1.ClusterIPNone, tcpPort(7000)),
		makeSlice("shop", "web", "web-1", first, second, terminating("10.0.0.3")),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{
			corev1.LabelTopologyRegion: "r1", corev1.LabelTopologyZone: "z1",
		}}},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-a", Labels: map[string]string{"app": "web"}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
		},
	}
}

const webHTTP = "outbound|80||web.shop.svc.cluster.local"

func TestClustersAreNamedAsIstiods(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, cds)
	got := clusters(t, c.want(t, cds).GetResources())
	equalStrings(t, "clusters", slices.Sorted(maps.Keys(got)), []string{
		"BlackHoleCluster", "InboundPassthroughCluster", "PassthroughCluster",
		"inbound|8080||", "inbound|9000||",
		"outbound|5432||db.data.svc.cluster.local",
		"outbound|7000||peers.data.svc.cluster.local",
		webHTTP,
		"outbound|9000||web.shop.svc.cluster.local",
	})
	web := got[webHTTP]
	if web.GetType() != cluster.Cluster_EDS || web.GetEdsClusterConfig().GetServiceName() != webHTTP ||
		web.GetEdsClusterConfig().GetEdsConfig().GetAds() == nil {
		t.Errorf("web is no EDS cluster over ADS: %v", web)
	}
	if peers := got["outbound|7000||peers.data.svc.cluster.local"]; peers.GetType() != cluster.Cluster_ORIGINAL_DST ||
		peers.GetEdsClusterConfig() != nil {
		t.Errorf("a headless service's cluster is %v", peers)
	}
}

func TestServiceThatIsExportedToNobodyHasInboundClustersOnly(t *testing.T) {
	objects := small()
	objects[0].(*corev1.Service).Annotations = map[string]string{"networking.istio.io/exportTo": "~"}
	p := startPlane(t, nil, objects...)
	c := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, cds)
	equalStrings(t, "clusters", slices.Sorted(maps.Keys(clusters(t, c.want(t, cds).GetResources()))), []string{
		"BlackHoleCluster", "InboundPassthroughCluster", "PassthroughCluster",
		"inbound|8080||", "inbound|9000||",
		"outbound|5432||db.data.svc.cluster.local",
		"outbound|7000||peers.data.svc.cluster.local",
	})
}

func TestProxyWithoutPodHasNoInboundClusters(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := p.sotw(t, nodeOf("10.9.9.9", "stranger", "shop"))
	c.ask(t, cds)
	for name := range clusters(t, c.want(t, cds).GetResources()) {
		if len(name) > 8 && name[:8] == "inbound|" {
			t.Errorf("unexpected cluster %s", name)
		}
	}
}

func TestEndpointsAreGroupedByLocalityAndCarryHealth(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, eds, webHTTP)
	got := assignments(t, c.want(t, eds).GetResources())
	equalStrings(t, "endpoints", describe(got[webHTTP]), []string{
		"/z9 10.0.0.2:8080 UNHEALTHY",
		"r1/z1 10.0.0.1:8080 HEALTHY",
	})
}

func TestUnreadyEndpointsAreLeftOutWhenSendingThemIsOff(t *testing.T) {
	p := startPlane(t, map[string]string{"PILOT_AUTO_SEND_UNHEALTHY_ENDPOINTS": "false"}, small()...)
	c := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, eds, webHTTP)
	got := assignments(t, c.want(t, eds).GetResources())
	equalStrings(t, "endpoints", describe(got[webHTTP]), []string{"r1/z1 10.0.0.1:8080 HEALTHY"})
}

func TestUnknownClusterGetsAnEmptyAssignment(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, eds, "outbound|1||nobody")
	got := assignments(t, c.want(t, eds).GetResources())
	if a, ok := got["outbound|1||nobody"]; !ok || len(a.GetEndpoints()) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestListenersPerPortAndPerClusterIP(t *testing.T) {
	p := startPlane(t, nil, small()...)
	c := p.sotw(t, nodeOf("10.0.0.1", "web-a", "shop"))
	c.ask(t, lds)
	got := listeners(t, c.want(t, lds).GetResources())
	equalStrings(t, "listeners", slices.Sorted(maps.Keys(got)), []string{
		"0.0.0.0_80", "10.96.0.1_9000", "10.96.0.2_5432", "virtualInbound", "virtualOutbound",
	})
	manager := &hcm.HttpConnectionManager{}
	config := got["0.0.0.0_80"].GetFilterChains()[0].GetFilters()[0].GetTypedConfig()
	if err := config.UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	if err := manager.ValidateAll(); err != nil {
		t.Error(err)
	}
	if manager.GetRds().GetRouteConfigName() != "80" {
		t.Errorf("route name %q, want 80", manager.GetRds().GetRouteConfigName())
	}
	if chains := got["virtualInbound"].GetFilterChains(); len(chains) != 2 {
		t.Errorf("virtualInbound has %d chains, want one per inbound port, 2", len(chains))
	}
}

func TestRoutesHaveAVirtualHostPerServiceAndDomainsByNamespace(t *testing.T) {
	p := startPlane(t, nil, small()...)
	for namespace, domains := range map[string][]string{
		"shop": {"web.shop.svc.cluster.local", "web", "web.shop.svc", "web.shop", "10.96.0.1"},
		"data": {"web.shop.svc.cluster.local", "web.shop.svc", "web.shop", "10.96.0.1"},
	} {
		c := p.sotw(t, nodeOf("10.0.0.9", "x", namespace))
		c.ask(t, rds, "80", "81")
		got := routes(t, c.want(t, rds).GetResources())
		hosts := got["80"].GetVirtualHosts()
		if len(hosts) != 2 || hosts[0].GetName() != "web.shop.svc.cluster.local:80" || hosts[1].GetName() != "allow_any" {
			t.Fatalf("virtual hosts: %v", hosts)
		}
		equalStrings(t, "domains in "+namespace, hosts[0].GetDomains(), domains)
		if name := hosts[0].GetRoutes()[0].GetRoute().GetCluster(); name != webHTTP {
			t.Errorf("route leads to %s", name)
		}
		if hosts := got["81"].GetVirtualHosts(); len(hosts) != 1 {
			t.Errorf("a port of no service has %d virtual hosts, want allow_any alone", len(hosts))
		}
	}
}
