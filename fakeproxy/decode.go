package fakeproxy

import (
	"bytes"
	"fmt"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsbench/xdsbench/event"
)

// body is what is kept of a resource's content. Immutable and interned.
type body struct {
	name    string
	size    int    // bytes of the content
	invalid string // why it must be rejected; empty if valid
	// children are the EDS resource a cluster takes its endpoints from, or the
	// route configurations a listener asks for.
	children []string
	// endpoints are the sorted hashes of usable endpoints, never nil for a
	// ClusterLoadAssignment; state is their fingerprint.
	endpoints []uint64
	state     event.Fingerprint
	// raw is the content, if the fleet keeps it for dumps.
	raw []byte
}

// validator is implemented by the messages that carry their validation rules.
type validator interface {
	proto.Message
	Validate() error
}

const hcmURL = typePrefix + "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

// decode reads an encoded Any, which must hold a resource of type typ.
func decode(b []byte, typ event.Type, keep bool) *body {
	d := &body{size: len(b)}
	if keep {
		d.raw = bytes.Clone(b)
	}
	if err := d.fill(b, typ); err != nil {
		d.invalid = err.Error()
	}
	return d
}

func (d *body) fill(b []byte, typ event.Type) error {
	var wrapped anypb.Any
	if err := proto.Unmarshal(b, &wrapped); err != nil {
		return fmt.Errorf("does not parse: %w", err)
	}
	if wrapped.GetTypeUrl() != typeURL(typ) {
		return fmt.Errorf("is a %q in a response of %q", wrapped.GetTypeUrl(), typeURL(typ))
	}
	switch typ {
	case event.CDS:
		return d.cluster(wrapped.GetValue())
	case event.EDS:
		return d.assignment(wrapped.GetValue())
	case event.LDS:
		return d.listener(wrapped.GetValue())
	default:
		r := new(routev3.RouteConfiguration)
		err := unmarshalValid(wrapped.GetValue(), r)
		d.name = r.GetName()
		return err
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

func (d *body) cluster(b []byte) error {
	c := new(clusterv3.Cluster)
	err := unmarshalValid(b, c)
	d.name = c.GetName()
	if c.GetType() == clusterv3.Cluster_EDS {
		child := c.GetEdsClusterConfig().GetServiceName()
		if child == "" {
			child = c.GetName()
		}
		d.children = []string{child}
	}
	return err
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

func (d *body) listener(b []byte) error {
	l := new(listenerv3.Listener)
	err := unmarshalValid(b, l)
	d.name = l.GetName()
	if err != nil {
		return err
	}
	for _, chain := range append(l.GetFilterChains(), l.GetDefaultFilterChain()) {
		for _, f := range chain.GetFilters() {
			if err := d.routes(f.GetTypedConfig()); err != nil {
				return fmt.Errorf("filter %q: %w", f.GetName(), err)
			}
		}
	}
	if err := d.routes(l.GetApiListener().GetApiListener()); err != nil {
		return fmt.Errorf("api_listener: %w", err)
	}
	slices.Sort(d.children)
	d.children = slices.Compact(d.children)
	return nil
}

// routes adds the route configuration that an HTTP connection manager asks for.
func (d *body) routes(config *anypb.Any) error {
	if config.GetTypeUrl() != hcmURL {
		return nil
	}
	h := new(hcmv3.HttpConnectionManager)
	if err := unmarshalValid(config.GetValue(), h); err != nil {
		return err
	}
	if name := h.GetRds().GetRouteConfigName(); name != "" {
		d.children = append(d.children, name)
	}
	return nil
}
