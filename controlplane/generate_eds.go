package controlplane

import (
	"cmp"
	"slices"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// portEndpoint is one endpoint of one service port.
type portEndpoint struct {
	where   locality
	address string
	port    uint32
	healthy bool
}

func (e portEndpoint) compare(other portEndpoint) int {
	return cmp.Or(e.where.compare(other.where), cmp.Compare(e.address, other.address),
		cmp.Compare(e.port, other.port))
}

// generateEndpoints returns one ClusterLoadAssignment per port of s. Endpoints
// are sorted, so that the content does not depend on how they are spread over
// slices. Headless services have none.
func generateEndpoints(enc *encoder, s *service, parts []*endpointSlice, nodes map[string]locality) []*encoded {
	if s.headless {
		return nil
	}
	out := make([]*encoded, 0, len(s.ports))
	for _, port := range s.ports {
		name := outboundName(s, port.number)
		out = append(out, enc.encode(typeEDS, name, loadAssignment(name, portEndpoints(port, parts, nodes))))
	}
	return out
}

// portEndpoints collects the endpoints of one port. An endpoint may be in
// several slices for a while, and clients have to deduplicate (Kubernetes,
// EndpointSlices, "Duplicate endpoints"); of the copies a healthy one counts.
func portEndpoints(port servicePort, parts []*endpointSlice, nodes map[string]locality) []portEndpoint {
	var list []portEndpoint
	for _, part := range parts {
		number := part.portNumber(port.name)
		if number == 0 {
			continue
		}
		for _, e := range part.endpoints {
			list = append(list, portEndpoint{
				where: e.locality(nodes), address: e.address, port: number, healthy: e.healthy,
			})
		}
	}
	slices.SortFunc(list, func(a, b portEndpoint) int {
		if order := a.compare(b); order != 0 || a.healthy == b.healthy {
			return order
		}
		if a.healthy {
			return -1
		}
		return 1
	})
	return slices.CompactFunc(list, func(a, b portEndpoint) bool { return a.compare(b) == 0 })
}

// portNumber finds the slice's port by the name it shares with the service's.
func (s *endpointSlice) portNumber(name string) uint32 {
	for _, port := range s.ports {
		if port.name == name {
			return port.number
		}
	}
	return 0
}

// locality is the node's, with the endpoint's own zone where the node is not
// known or names none.
func (e sliceEndpoint) locality(nodes map[string]locality) locality {
	where := nodes[e.node]
	if where.zone == "" {
		where.zone = e.zone
	}
	return where
}

// loadAssignment groups sorted endpoints by locality.
func loadAssignment(name string, list []portEndpoint) *endpoint.ClusterLoadAssignment {
	assignment := &endpoint.ClusterLoadAssignment{ClusterName: name}
	var group *endpoint.LocalityLbEndpoints
	for i, e := range list {
		if group == nil || list[i-1].where != e.where {
			group = &endpoint.LocalityLbEndpoints{
				Locality: &core.Locality{Region: e.where.region, Zone: e.where.zone, SubZone: e.where.subzone},
			}
			assignment.Endpoints = append(assignment.Endpoints, group)
		}
		group.LbEndpoints = append(group.LbEndpoints, lbEndpoint(e))
	}
	for _, group := range assignment.GetEndpoints() {
		group.LoadBalancingWeight = wrapperspb.UInt32(uint32(len(group.GetLbEndpoints())))
	}
	return assignment
}

func lbEndpoint(e portEndpoint) *endpoint.LbEndpoint {
	health := core.HealthStatus_HEALTHY
	if !e.healthy {
		health = core.HealthStatus_UNHEALTHY
	}
	return &endpoint.LbEndpoint{
		HealthStatus:        health,
		LoadBalancingWeight: wrapperspb.UInt32(1),
		HostIdentifier: &endpoint.LbEndpoint_Endpoint{
			Endpoint: &endpoint.Endpoint{Address: socketAddress(e.address, e.port)},
		},
	}
}

func socketAddress(address string, port uint32) *core.Address {
	return &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
		Address:       address,
		PortSpecifier: &core.SocketAddress_PortValue{PortValue: port},
	}}}
}
