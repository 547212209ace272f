package proxyconfig_test

import (
	"io"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/internal/testutil/golden"
	"github.com/xdsbench/xdsbench/proxyconfig"
)

func encoded(t *testing.T, m proto.Message) []byte {
	t.Helper()
	content, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func resource(t *testing.T, name, version string, m proto.Message, children ...string) fakeproxy.ResourceDump {
	t.Helper()
	return fakeproxy.ResourceDump{Name: name, Version: version, Bytes: proto.Size(m), Children: children, Content: encoded(t, m)}
}

func endpoint(ip string, health corev3.HealthStatus) *endpointv3.LbEndpoint {
	return &endpointv3.LbEndpoint{HealthStatus: health, HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: socket(ip, 8080)}}}
}

func socket(ip string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: ip, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

func to(prefix, cluster string) *routev3.Route {
	return &routev3.Route{
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: prefix}},
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}}},
	}
}

// dump is what a proxy holds that waits for one cluster's endpoints.
func dump(t *testing.T) fakeproxy.Dump {
	t.Helper()
	const web, db = "outbound|80|v1|web.ns.svc.cluster.local", "outbound|5432||db.ns.svc.cluster.local"
	weighted := to("/split", "")
	weighted.GetRoute().ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: &routev3.WeightedCluster{
		Clusters: []*routev3.WeightedCluster_ClusterWeight{{Name: web, Weight: wrapperspb.UInt32(90)}, {Name: db, Weight: wrapperspb.UInt32(10)}},
	}}
	exact := to("", web)
	exact.Match = &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: "/healthz"}}
	return fakeproxy.Dump{
		Node: "sidecar~10.0.0.1~a.ns~ns.svc.cluster.local", Variant: "delta", Connected: true,
		Types: []fakeproxy.TypeDump{
			{Type: "cds", Version: "v7", Nonce: "n3", Asked: true, Wildcard: true, Resources: []fakeproxy.ResourceDump{
				resource(t, web, "1", &clusterv3.Cluster{Name: web, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}}, web),
				resource(t, "BlackHoleCluster", "2", &clusterv3.Cluster{Name: "BlackHoleCluster"}),
				{Name: "broken", Version: "3", Bytes: 2, Content: []byte{0xff, 0xff}},
			}},
			{Type: "eds", Version: "v7", Nonce: "n4", Asked: true, Subscription: []string{web, db}, Warming: []string{db}, Resources: []fakeproxy.ResourceDump{
				resource(t, web, "", &endpointv3.ClusterLoadAssignment{ClusterName: web, Endpoints: []*endpointv3.LocalityLbEndpoints{
					{LbEndpoints: []*endpointv3.LbEndpoint{endpoint("10.1.0.1", corev3.HealthStatus_UNKNOWN)}},
					{LbEndpoints: []*endpointv3.LbEndpoint{endpoint("10.1.0.2", corev3.HealthStatus_DRAINING)}},
				}}),
				resource(t, "empty", "", &endpointv3.ClusterLoadAssignment{ClusterName: "empty"}),
			}},
			{Type: "lds", Version: "v7", Nonce: "n5", Asked: true, Wildcard: true, Resources: []fakeproxy.ResourceDump{
				resource(t, "0.0.0.0_80", "1", &listenerv3.Listener{Name: "0.0.0.0_80", Address: socket("0.0.0.0", 80)}, "80"),
				resource(t, "tcp", "1", &listenerv3.Listener{Name: "tcp", Address: socket("10.2.0.1", 5432), FilterChains: []*listenerv3.FilterChain{{}}, DefaultFilterChain: &listenerv3.FilterChain{}}),
			}},
			{Type: "rds", Version: "v7", Nonce: "n6", Asked: true, Subscription: []string{"80"}, Resources: []fakeproxy.ResourceDump{
				resource(t, "80", "1", &routev3.RouteConfiguration{Name: "80", VirtualHosts: []*routev3.VirtualHost{
					{Name: "web:80", Domains: []string{"web", "web.ns", "web.ns.svc"}, Routes: []*routev3.Route{exact, weighted, to("/", web)}},
				}}),
			}},
			{Type: "sds"},
			{Type: "workload", Version: "w", Nonce: "n9", Asked: true, Wildcard: true, Resources: []fakeproxy.ResourceDump{{Name: "Kubernetes//Pod/ns/a", Version: "4", Bytes: 80}}},
		},
	}
}

func TestTextIsAsInTheGoldenFile(t *testing.T) {
	golden.Check(t, "dump.txt", func(w io.Writer) error {
		if err := proxyconfig.Text(w, dump(t)); err == nil || !strings.Contains(err.Error(), `cds "broken"`) {
			t.Errorf("error %v: want one that names the broken cluster", err)
		}
		return nil
	})
}

func TestSelectKeepsOneSection(t *testing.T) {
	whole := dump(t)
	for section, typ := range map[string]string{"clusters": "cds", "endpoints": "eds", "listeners": "lds", "routes": "rds"} {
		d, err := proxyconfig.Select(whole, section)
		if err != nil || len(d.Types) != 1 || d.Types[0].Type != typ {
			t.Errorf("%s: %v, %+v", section, err, d.Types)
		}
	}
	if d, err := proxyconfig.Select(whole, "all"); err != nil || len(d.Types) != len(whole.Types) {
		t.Errorf("all: %v, %d types", err, len(d.Types))
	}
	if _, err := proxyconfig.Select(whole, "pods"); err == nil || !strings.Contains(err.Error(), "clusters, endpoints") {
		t.Errorf("pods: %v", err)
	}
}
