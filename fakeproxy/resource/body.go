package resource

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

// Body is what is kept of a resource's content. Immutable and interned.
type Body struct {
	Size int // bytes of the content
	// Children are the resources that this one names, by type and then by name.
	Children []Child
	// Endpoints are the sorted hashes of usable endpoints, never nil for a
	// ClusterLoadAssignment; State is their fingerprint.
	Endpoints []uint64
	State     event.Fingerprint
	// Raw is the content, if the table keeps it for dumps.
	Raw []byte

	// Of a type that is followed: what it shows beside its own name.
	state event.Fingerprint // of a cluster
	hosts []string          // virtual hosts of a route configuration
	marks []mark

	name    string
	invalid string // why it must be rejected; empty if valid
}

// Child is a resource that another one names.
type Child struct {
	Type xds.Type
	Name string
}

// names reports whether the resource names a child.
func (d *Body) names(t xds.Type, name string) bool {
	return slices.Contains(d.Children, Child{t, name})
}

// child adds a child.
func (d *Body) child(t xds.Type, name string) {
	if name != "" {
		d.Children = append(d.Children, Child{t, name})
	}
}

// validator is implemented by the messages that carry their validation rules.
type validator interface {
	proto.Message
	Validate() error
}

// decode reads an encoded Any, which must hold a resource of type typ.
func decode(b []byte, typ xds.Type, keep, follow bool) *Body {
	d := &Body{Size: len(b), state: event.Present}
	if keep {
		d.Raw = bytes.Clone(b)
	}
	if follow {
		d.readMarks(b)
	}
	if err := d.fill(b, typ); err != nil {
		d.invalid = err.Error()
	}
	return d
}

func (d *Body) fill(b []byte, typ xds.Type) error {
	var wrapped anypb.Any
	if err := proto.Unmarshal(b, &wrapped); err != nil {
		return fmt.Errorf("does not parse: %w", err)
	}
	if wrapped.GetTypeUrl() != typ.URL() {
		return fmt.Errorf("is a %q in a response of %q", wrapped.GetTypeUrl(), typ.URL())
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
		return d.routes(value)
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
func (d *Body) named(b []byte, m interface {
	validator
	GetName() string
},
) error {
	err := unmarshalValid(b, m)
	d.name = m.GetName()
	return err
}

func (d *Body) routes(b []byte) error {
	r := new(routev3.RouteConfiguration)
	err := d.named(b, r)
	for _, host := range r.GetVirtualHosts() {
		d.hosts = append(d.hosts, host.GetName())
	}
	return err
}

func (d *Body) cluster(b []byte) error {
	c := new(clusterv3.Cluster)
	err := unmarshalValid(b, c)
	d.name = c.GetName()
	if err != nil {
		return err
	}
	if generation, ok := event.OfMarkTimeout(c.GetConnectTimeout().AsDuration()); ok {
		d.state = event.MarkState(generation)
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
func (d *Body) tidy() {
	slices.SortFunc(d.Children, compareChild)
	d.Children = slices.Clip(slices.Compact(d.Children))
}

func (d *Body) assignment(b []byte) error {
	a := new(endpointv3.ClusterLoadAssignment)
	err := unmarshalValid(b, a)
	d.name = a.GetClusterName()
	d.Endpoints = []uint64{}
	for _, locality := range a.GetEndpoints() {
		for _, e := range locality.GetLbEndpoints() {
			if usable(e.GetHealthStatus()) {
				d.Endpoints = append(d.Endpoints, endpointHash(e.GetEndpoint().GetAddress()))
			}
		}
	}
	slices.Sort(d.Endpoints)
	d.Endpoints = slices.Clip(slices.Compact(d.Endpoints))
	d.State = event.FingerprintOf(d.Endpoints)
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
