package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	clusterpb "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerpb "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routepb "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerpb "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmpb "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// outbound names the listener and its route configuration.
const outbound = "outbound"

// cluster is one port of a service.
type cluster struct {
	name      string // "namespace/service/port"
	domain    string // "service.namespace:port"
	endpoints *endpointpb.ClusterLoadAssignment
}

// clustersOf returns a cluster for each port of a service that has, or is to
// get, a cluster IP.
func clustersOf(service *corev1.Service, slices []*discoveryv1.EndpointSlice) []cluster {
	if service.Spec.ClusterIP == corev1.ClusterIPNone || service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	var clusters []cluster
	for _, port := range service.Spec.Ports {
		name := fmt.Sprintf("%s/%s/%d", service.Namespace, service.Name, port.Port)
		clusters = append(clusters, cluster{
			name:      name,
			domain:    fmt.Sprintf("%s.%s:%d", service.Name, service.Namespace, port.Port),
			endpoints: loadAssignment(name, port.Name, slices),
		})
	}
	return clusters
}

// loadAssignment returns the usable endpoints of one port, in the order of their
// addresses: the informer's order may change from one event to the next.
func loadAssignment(name, port string, all []*discoveryv1.EndpointSlice) *endpointpb.ClusterLoadAssignment {
	type endpoint struct {
		address string
		port    uint32
	}
	seen := map[endpoint]bool{} // an endpoint may be in two slices while it moves
	for _, slice := range all {
		number, ok := portNumber(slice, port)
		if !ok {
			continue
		}
		for _, e := range slice.Endpoints {
			if len(e.Addresses) > 0 && usable(e.Conditions) {
				seen[endpoint{e.Addresses[0], number}] = true
			}
		}
	}
	endpoints := slices.SortedFunc(maps.Keys(seen), func(a, b endpoint) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.port, b.port))
	})
	assignment := &endpointpb.ClusterLoadAssignment{ClusterName: name}
	if len(endpoints) == 0 {
		return assignment
	}
	locality := &endpointpb.LocalityLbEndpoints{}
	for _, e := range endpoints {
		locality.LbEndpoints = append(locality.LbEndpoints, &endpointpb.LbEndpoint{
			HostIdentifier: &endpointpb.LbEndpoint_Endpoint{
				Endpoint: &endpointpb.Endpoint{Address: socketAddress(e.address, e.port)},
			},
		})
	}
	assignment.Endpoints = []*endpointpb.LocalityLbEndpoints{locality}
	return assignment
}

// portNumber returns the number that a slice gives the port of this name.
func portNumber(slice *discoveryv1.EndpointSlice, name string) (uint32, bool) {
	for _, p := range slice.Ports {
		if p.Port != nil && (p.Name == nil && name == "" || p.Name != nil && *p.Name == name) {
			return uint32(*p.Port), true
		}
	}
	return 0, false
}

// usable reports whether an endpoint can take new connections. An unknown ready
// condition counts as true (Kubernetes API, EndpointConditions).
func usable(c discoveryv1.EndpointConditions) bool {
	return (c.Ready == nil || *c.Ready) && (c.Terminating == nil || !*c.Terminating)
}

func socketAddress(address string, port uint32) *corepb.Address {
	return &corepb.Address{Address: &corepb.Address_SocketAddress{SocketAddress: &corepb.SocketAddress{
		Address:       address,
		PortSpecifier: &corepb.SocketAddress_PortValue{PortValue: port},
	}}}
}

// ads names the stream that a resource came by as the source of its children.
func ads() *corepb.ConfigSource {
	return &corepb.ConfigSource{
		ResourceApiVersion:    corepb.ApiVersion_V3,
		ConfigSourceSpecifier: &corepb.ConfigSource_Ads{Ads: &corepb.AggregatedConfigSource{}},
	}
}

func clusterResource(name string) *clusterpb.Cluster {
	return &clusterpb.Cluster{
		Name:                 name,
		ConnectTimeout:       durationpb.New(time.Second),
		ClusterDiscoveryType: &clusterpb.Cluster_Type{Type: clusterpb.Cluster_EDS},
		EdsClusterConfig:     &clusterpb.Cluster_EdsClusterConfig{EdsConfig: ads()},
	}
}

// routeResource routes each cluster's domain to it, in the order of their names.
func routeResource(clusters map[string]cluster) *routepb.RouteConfiguration {
	routes := &routepb.RouteConfiguration{Name: outbound}
	for _, name := range slices.Sorted(maps.Keys(clusters)) {
		domain := clusters[name].domain
		routes.VirtualHosts = append(routes.VirtualHosts, &routepb.VirtualHost{
			Name:    domain,
			Domains: []string{domain},
			Routes: []*routepb.Route{{
				Match: &routepb.RouteMatch{PathSpecifier: &routepb.RouteMatch_Prefix{Prefix: "/"}},
				Action: &routepb.Route_Route{Route: &routepb.RouteAction{
					ClusterSpecifier: &routepb.RouteAction_Cluster{Cluster: name},
				}},
			}},
		})
	}
	return routes
}

func listenerResource() (*listenerpb.Listener, error) {
	router, err := anypb.New(&routerpb.Router{})
	if err != nil {
		return nil, err
	}
	manager, err := anypb.New(&hcmpb.HttpConnectionManager{
		StatPrefix: outbound,
		RouteSpecifier: &hcmpb.HttpConnectionManager_Rds{
			Rds: &hcmpb.Rds{ConfigSource: ads(), RouteConfigName: outbound},
		},
		HttpFilters: []*hcmpb.HttpFilter{{
			Name:       "envoy.filters.http.router",
			ConfigType: &hcmpb.HttpFilter_TypedConfig{TypedConfig: router},
		}},
	})
	if err != nil {
		return nil, err
	}
	return &listenerpb.Listener{
		Name:    outbound,
		Address: socketAddress("127.0.0.1", 15001),
		FilterChains: []*listenerpb.FilterChain{{Filters: []*listenerpb.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &listenerpb.Filter_TypedConfig{TypedConfig: manager},
		}}}},
	}, nil
}

// sameEndpoints reports whether two clusters have the same endpoints.
func sameEndpoints(a, b cluster) bool { return proto.Equal(a.endpoints, b.endpoints) }
