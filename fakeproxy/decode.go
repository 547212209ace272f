package fakeproxy

import (
	"bytes"
	"fmt"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// body is what is kept of a resource's content. Immutable and interned.
type body struct {
	name    string
	size    int    // bytes of the content
	invalid string // why it must be rejected; empty if valid
	// children are the resources that this one names, by type and then by name.
	children []child
	// endpoints are the sorted hashes of usable endpoints, never nil for a
	// ClusterLoadAssignment; state is their fingerprint.
	endpoints []uint64
	state     event.Fingerprint
	// raw is the content, if the fleet keeps it for dumps.
	raw []byte
}

// child is a resource that another one names.
type child struct {
	of   xds.Type
	name string
}

// names reports whether the resource names a child.
func (d *body) names(t xds.Type, name string) bool {
	return slices.Contains(d.children, child{t, name})
}

// child adds a child.
func (d *body) child(t xds.Type, name string) {
	if name != "" {
		d.children = append(d.children, child{t, name})
	}
}

// validator is implemented by the messages that carry their validation rules.
type validator interface {
	proto.Message
	Validate() error
}

// decode reads an encoded Any, which must hold a resource of type typ.
func decode(b []byte, typ xds.Type, keep bool) *body {
	d := &body{size: len(b)}
	if keep {
		d.raw = bytes.Clone(b)
	}
	if err := d.fill(b, typ); err != nil {
		d.invalid = err.Error()
	}
	return d
}

func (d *body) fill(b []byte, typ xds.Type) error {
	var wrapped anypb.Any
	if err := proto.Unmarshal(b, &wrapped); err != nil {
		return fmt.Errorf("does not parse: %w", err)
	}
	if wrapped.GetTypeUrl() != typeURL(typ) {
		return fmt.Errorf("is a %q in a response of %q", wrapped.GetTypeUrl(), typeURL(typ))
	}
	value := wrapped.GetValue()
	switch typ {
	case xds.CDS:
		return d.cluster(value)
	case xds.EDS:
		return d.assignment(value)
	case xds.LDS:
		return d.listener(value)
	case xds.SRDS:
		return d.scope(value)
	case xds.RDS:
		return d.named(value, new(routev3.RouteConfiguration))
	case xds.SDS:
		return d.named(value, new(tlsv3.Secret))
	case xds.ECDS:
		return d.named(value, new(corev3.TypedExtensionConfig))
	default:
		// What ztunnel asks for has its name in the envelope, and names nothing.
		return nil
	}
}

func unmarshalValid(b []byte, m validator) error {
	// Unknown fields are of no use here.
	unmarshaling := proto.UnmarshalOptions{DiscardUnknown: true}
	if err := unmarshaling.Unmarshal(b, m); err != nil {
		return fmt.Errorf("does not decode: %w", err)
	}
	return m.Validate()
}

// named reads a message of which only the name is of use.
func (d *body) named(b []byte, m interface {
	validator
	GetName() string
},
) error {
	err := unmarshalValid(b, m)
	d.name = m.GetName()
	return err
}

func (d *body) cluster(b []byte) error {
	c := new(clusterv3.Cluster)
	err := unmarshalValid(b, c)
	d.name = c.GetName()
	if err != nil {
		return err
	}
	if c.GetType() == clusterv3.Cluster_EDS {
		service := c.GetEdsClusterConfig().GetServiceName()
		if service == "" {
			service = c.GetName()
		}
		d.child(xds.EDS, service)
	}
	for _, f := range c.GetFilters() {
		d.extension(f.GetName(), f.GetConfigDiscovery())
	}
	if err := d.secrets(c.GetTransportSocket()); err != nil {
		return err
	}
	for _, m := range c.GetTransportSocketMatches() {
		if err := d.secrets(m.GetTransportSocket()); err != nil {
			return err
		}
	}
	d.tidy()
	return nil
}

// tidy sorts the children and drops repeated ones.
func (d *body) tidy() {
	slices.SortFunc(d.children, compareChild)
	d.children = slices.Clip(slices.Compact(d.children))
}

func (d *body) assignment(b []byte) error {
	a := new(endpointv3.ClusterLoadAssignment)
	err := unmarshalValid(b, a)
	d.name = a.GetClusterName()
	d.endpoints = []uint64{}
	for _, locality := range a.GetEndpoints() {
		for _, e := range locality.GetLbEndpoints() {
			if usable(e.GetHealthStatus()) {
				d.endpoints = append(d.endpoints, endpointHash(e.GetEndpoint().GetAddress()))
			}
		}
	}
	slices.Sort(d.endpoints)
	d.endpoints = slices.Clip(slices.Compact(d.endpoints))
	d.state = event.FingerprintOf(d.endpoints)
	return err
}

func usable(h corev3.HealthStatus) bool {
	return h == corev3.HealthStatus_UNKNOWN || h == corev3.HealthStatus_HEALTHY || h == corev3.HealthStatus_DEGRADED
}

// endpointHash hashes an address. An internal listener or a pipe has no port.
func endpointHash(a *corev3.Address) uint64 {
	switch {
	case a.GetSocketAddress() != nil:
		s := a.GetSocketAddress()
		return event.EndpointHash(s.GetAddress(), s.GetPortValue())
	case a.GetEnvoyInternalAddress() != nil:
		i := a.GetEnvoyInternalAddress()
		return event.EndpointHash(i.GetServerListenerName()+"/"+i.GetEndpointId(), 0)
	default:
		return event.EndpointHash(a.GetPipe().GetPath(), 0)
	}
}
