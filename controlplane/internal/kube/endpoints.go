package kube

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// EndpointSlice is the part of an EndpointSlice that proxies can see. A nil one
// is empty.
type EndpointSlice struct {
	ports     []slicePort
	endpoints []sliceEndpoint
}

type slicePort struct {
	name   string
	number uint32
}

type sliceEndpoint struct {
	address, node, zone string
	healthy             bool
}

// NewEndpointSlice keeps of the object what can be sent: endpoints that are
// terminating never, endpoints that are not ready only with sendUnhealthy. A
// nil ready condition means ready (Kubernetes EndpointConditions). As in istiod, an
// endpoint that is not ready and does not say that it is not terminating is.
func NewEndpointSlice(object *discoveryv1.EndpointSlice, sendUnhealthy bool) *EndpointSlice {
	s := &EndpointSlice{}
	if object.AddressType == discoveryv1.AddressTypeFQDN {
		return s
	}
	for i := range object.Ports {
		// A nil number stands for all ports; as istiod sends it, it is port 0.
		port := &object.Ports[i]
		s.ports = append(s.ports, slicePort{name: valueOf(port.Name, ""), number: uint32(valueOf(port.Port, 0))})
	}
	for i := range object.Endpoints {
		e := &object.Endpoints[i]
		ready := valueOf(e.Conditions.Ready, true)
		if valueOf(e.Conditions.Terminating, !ready) || !ready && !sendUnhealthy {
			continue
		}
		for _, address := range e.Addresses {
			s.endpoints = append(s.endpoints, sliceEndpoint{
				address: address, node: valueOf(e.NodeName, ""), zone: valueOf(e.Zone, ""), healthy: ready,
			})
		}
	}
	return s
}

func valueOf[T any](p *T, unset T) T {
	if p == nil {
		return unset
	}
	return *p
}

// Empty tells whether the slice has no endpoints.
func (s *EndpointSlice) Empty() bool { return s == nil || len(s.endpoints) == 0 }

// Equal tells whether proxies see the same in both.
func (s *EndpointSlice) Equal(other *EndpointSlice) bool {
	if s.Empty() || other.Empty() {
		return s.Empty() && other.Empty()
	}
	return slices.Equal(s.endpoints, other.endpoints) && slices.Equal(s.ports, other.ports)
}

// UsesNode tells whether an endpoint of the slice is on node.
func (s *EndpointSlice) UsesNode(node string) bool {
	return slices.ContainsFunc(s.endpoints, func(e sliceEndpoint) bool { return e.node == node })
}

// Locality is where an endpoint runs.
type Locality struct{ Region, Zone, SubZone string }

// subZoneLabel is Istio's; region and zone have labels of Kubernetes.
const subZoneLabel = "topology.istio.io/subzone"

// LocalityOf returns the locality of everything on a node.
func LocalityOf(node *corev1.Node) Locality {
	return Locality{
		Region:  node.Labels[corev1.LabelTopologyRegion],
		Zone:    node.Labels[corev1.LabelTopologyZone],
		SubZone: node.Labels[subZoneLabel],
	}
}

// Endpoint is one endpoint of one service port.
type Endpoint struct {
	Locality Locality
	Address  string
	Port     uint32
	Healthy  bool
}

func (e Endpoint) compare(other Endpoint) int {
	return cmp.Or(
		cmp.Compare(e.Locality.Region, other.Locality.Region),
		cmp.Compare(e.Locality.Zone, other.Locality.Zone),
		cmp.Compare(e.Locality.SubZone, other.Locality.SubZone),
		cmp.Compare(e.Address, other.Address),
		cmp.Compare(e.Port, other.Port),
	)
}

// Addresses lists the addresses of the slice's endpoints.
func (s *EndpointSlice) Addresses() []string {
	var out []string
	if s != nil {
		for _, e := range s.endpoints {
			out = append(out, e.address)
		}
	}
	return out
}

// EndpointsOf collects the endpoints of a port, sorted, so that the result does
// not depend on how they are spread over slices. An endpoint may be in several
// slices for a while, and clients must deduplicate (Kubernetes, EndpointSlices,
// "Duplicate endpoints"); it is healthy if one of the copies is.
func EndpointsOf(port Port, parts []*EndpointSlice, nodes map[string]Locality) []Endpoint {
	var list []Endpoint
	for _, part := range parts {
		// A slice's port has the name of the service's.
		i := slices.IndexFunc(part.ports, func(p slicePort) bool { return p.name == port.Name })
		if i < 0 {
			continue
		}
		for _, e := range part.endpoints {
			list = append(list, Endpoint{
				Locality: e.locality(nodes), Address: e.address, Port: part.ports[i].number, Healthy: e.healthy,
			})
		}
	}
	slices.SortFunc(list, func(a, b Endpoint) int {
		order := a.compare(b)
		switch {
		case order != 0 || a.Healthy == b.Healthy:
			return order
		case a.Healthy:
			return -1
		default:
			return 1
		}
	})
	return slices.CompactFunc(list, func(a, b Endpoint) bool { return a.compare(b) == 0 })
}

// locality is the node's, with the endpoint's own zone where the node is not
// known or names none.
func (e sliceEndpoint) locality(nodes map[string]Locality) Locality {
	where := nodes[e.node]
	where.Zone = cmp.Or(where.Zone, e.zone)
	return where
}
