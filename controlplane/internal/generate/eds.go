package generate

import (
	"slices"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// Endpoints is what there is to know of a service's endpoints.
type Endpoints struct {
	Slices []*kube.EndpointSlice
	Nodes  map[string]kube.Locality
	Pods   map[string]*kube.Workload // by address; needed for subsets only
}

// LoadAssignments returns one ClusterLoadAssignment per port of s, and one per port
// and subset of rule, which may be nil. Headless services have none.
func LoadAssignments(
	enc *xds.Encoder, s *kube.Service, rule *kube.DestinationRule, known Endpoints,
) []*discovery.Resource {
	if s.Headless {
		return nil
	}
	out := make([]*discovery.Resource, 0, len(s.Ports)*(1+len(subsetsOf(rule))))
	for _, port := range s.Ports {
		endpoints := kube.EndpointsOf(port, known.Slices, known.Nodes)
		out = append(out, LoadAssignment(enc, ClusterName(s, port.Number), endpoints))
		for _, subset := range subsetsOf(rule) {
			labeled := slices.DeleteFunc(slices.Clone(endpoints), func(e kube.Endpoint) bool {
				return !known.Pods[e.Address].Labeled(subset.Labels)
			})
			out = append(out, LoadAssignment(enc, subsetName(s, port.Number, subset.Name), labeled))
		}
	}
	return out
}

// LoadAssignment groups sorted endpoints by locality.
func LoadAssignment(enc *xds.Encoder, cluster string, endpoints []kube.Endpoint) *discovery.Resource {
	assignment := &endpoint.ClusterLoadAssignment{ClusterName: cluster}
	var group *endpoint.LocalityLbEndpoints
	for i, e := range endpoints {
		if group == nil || endpoints[i-1].Locality != e.Locality {
			group = &endpoint.LocalityLbEndpoints{Locality: &core.Locality{
				Region: e.Locality.Region, Zone: e.Locality.Zone, SubZone: e.Locality.SubZone,
			}}
			assignment.Endpoints = append(assignment.Endpoints, group)
		}
		group.LbEndpoints = append(group.LbEndpoints, lbEndpoint(e))
	}
	for _, group := range assignment.GetEndpoints() {
		group.LoadBalancingWeight = wrapperspb.UInt32(uint32(len(group.GetLbEndpoints())))
	}
	return enc.Encode(cluster, assignment)
}

func lbEndpoint(e kube.Endpoint) *endpoint.LbEndpoint {
	health := core.HealthStatus_HEALTHY
	if !e.Healthy {
		health = core.HealthStatus_UNHEALTHY
	}
	return &endpoint.LbEndpoint{
		HealthStatus:        health,
		LoadBalancingWeight: wrapperspb.UInt32(1),
		HostIdentifier: &endpoint.LbEndpoint_Endpoint{
			Endpoint: &endpoint.Endpoint{Address: socketAddress(e.Address, e.Port)},
		},
	}
}

func socketAddress(address string, port uint32) *core.Address {
	return &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
		Address:       address,
		PortSpecifier: &core.SocketAddress_PortValue{PortValue: port},
	}}}
}
