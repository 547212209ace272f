package adstest

import (
	"fmt"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// The type URLs that proxies ask for; the last two are those of ztunnel.
const (
	CDS           = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	EDS           = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	LDS           = "type.googleapis.com/envoy.config.listener.v3.Listener"
	RDS           = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	SRDS          = "type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration"
	SDS           = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	ECDS          = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig"
	Address       = "type.googleapis.com/istio.workload.Address"
	Authorization = "type.googleapis.com/istio.security.Authorization"
)

// SotW is a state-of-the-world response with a nonce made of the version.
func SotW(typeURL, version string, resources ...proto.Message) *discoveryv3.DiscoveryResponse {
	r := &discoveryv3.DiscoveryResponse{TypeUrl: typeURL, VersionInfo: version, Nonce: "n-" + version}
	for _, m := range resources {
		r.Resources = append(r.Resources, Any(m))
	}
	return r
}

// Delta is an incremental response, whose resources have the version too.
func Delta(typeURL, version string, resources ...proto.Message) *discoveryv3.DeltaDiscoveryResponse {
	r := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: typeURL, SystemVersionInfo: version, Nonce: "n-" + version}
	for _, m := range resources {
		r.Resources = append(r.Resources, &discoveryv3.Resource{Name: Name(m), Version: version, Resource: Any(m)})
	}
	return r
}

// Opaque is a Delta response with resources whose bodies are the given bytes.
func Opaque(typeURL, version string, bodies map[string]string) *discoveryv3.DeltaDiscoveryResponse {
	r := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: typeURL, Nonce: "n-" + version}
	for name, body := range bodies {
		r.Resources = append(r.Resources, &discoveryv3.Resource{
			Name: name, Version: version, Resource: &anypb.Any{TypeUrl: typeURL, Value: []byte(body)},
		})
	}
	return r
}

// Garbage is a message whose encoding is the given bytes: they are carried as
// unknown fields, which need not be well-formed.
func Garbage(b string) *discoveryv3.DeltaDiscoveryResponse {
	m := new(discoveryv3.DeltaDiscoveryResponse)
	m.ProtoReflect().SetUnknown([]byte(b))
	return m
}

// Any packs a message deterministically. It panics if it cannot be encoded.
func Any(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic(err)
	}
	return a
}

// Name is the name of a resource.
func Name(m proto.Message) string {
	switch m := m.(type) {
	case interface{ GetClusterName() string }:
		return m.GetClusterName()
	case interface{ GetName() string }:
		return m.GetName()
	}
	panic(fmt.Sprintf("a %T has no name", m))
}
