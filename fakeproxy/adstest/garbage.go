package adstest

import discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

// Garbage is a message whose encoding is the given bytes: they are carried as
// unknown fields, which need not be well-formed.
func Garbage(b string) *discoveryv3.DeltaDiscoveryResponse {
	m := new(discoveryv3.DeltaDiscoveryResponse)
	m.ProtoReflect().SetUnknown([]byte(b))
	return m
}
