package fakeproxy_test

import (
	"net"
	"strconv"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

func ads() *corev3.ConfigSource {
	return &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}}
}

// makeCluster is an EDS cluster. timeout tells one revision of it from another.
func makeCluster(name, serviceName string, timeout time.Duration) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, ConnectTimeout: durationpb.New(timeout),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ads(), ServiceName: serviceName},
	}
}

// makeEndpoints are the healthy endpoints HOST:PORT of an EDS resource.
func makeEndpoints(name string, addrs ...string) *endpointv3.ClusterLoadAssignment {
	a := &endpointv3.ClusterLoadAssignment{ClusterName: name}
	if len(addrs) == 0 {
		return a
	}
	l := &endpointv3.LocalityLbEndpoints{}
	for _, addr := range addrs {
		l.LbEndpoints = append(l.LbEndpoints, endpoint(addr, corev3.HealthStatus_HEALTHY))
	}
	a.Endpoints = append(a.Endpoints, l)
	return a
}

// endpoint is one endpoint with a health. It panics on a malformed address.
func endpoint(addr string, health corev3.HealthStatus) *endpointv3.LbEndpoint {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		panic(err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		panic(err)
	}
	return &endpointv3.LbEndpoint{
		HealthStatus: health,
		HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
			Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
				Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)},
			}}},
		}},
	}
}

// makeListener has one filter chain with an HTTP connection manager per route name.
func makeListener(name string, routes ...string) *listenerv3.Listener {
	l := &listenerv3.Listener{Name: name}
	for _, r := range routes {
		l.FilterChains = append(l.FilterChains, makeChain(r))
	}
	return l
}

// makeChain is a filter chain with an HTTP connection manager that asks for a route.
func makeChain(route string) *listenerv3.FilterChain {
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: "test",
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{
			Rds: &hcmv3.Rds{ConfigSource: ads(), RouteConfigName: route},
		},
	}
	return managerChain(manager)
}

func managerChain(m *hcmv3.HttpConnectionManager) *listenerv3.FilterChain {
	return &listenerv3.FilterChain{Filters: []*listenerv3.Filter{{
		Name:       "envoy.filters.network.http_connection_manager",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: adstest.Any(m)},
	}}}
}

// makeRoute is a route configuration with one virtual host.
func makeRoute(name, domain string) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{
		Name:         name,
		VirtualHosts: []*routev3.VirtualHost{{Name: domain, Domains: []string{domain}}},
	}
}
