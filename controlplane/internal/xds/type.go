// Package xds holds what the stages after the registry share: the served types,
// resources encoded once for all proxies, and subscriptions by name.
package xds

import "github.com/envoyproxy/go-control-plane/pkg/resource/v3"

// Type numbers the served types in the order of a push: a type comes after
// those it refers to, so that nothing is announced before it can be resolved
// (xDS protocol, "Eventual consistency considerations").
type Type int

// The served types, and their number.
const (
	CDS Type = iota
	EDS
	LDS
	RDS
	TypeCount
)

// URL is the type URL of t's resources.
func (t Type) URL() string {
	return [TypeCount]string{
		resource.ClusterType, resource.EndpointType, resource.ListenerType, resource.RouteType,
	}[t]
}

// String is how istiod's metrics name t, such as "cds".
func (t Type) String() string {
	return [TypeCount]string{"cds", "eds", "lds", "rds"}[t]
}

// Wildcard tells whether a request without names means all resources. For EDS
// and RDS it means none.
func (t Type) Wildcard() bool { return t == CDS || t == LDS }

// TypeOf returns the type with a URL; false if it is not served.
func TypeOf(url string) (Type, bool) {
	for t := range TypeCount {
		if t.URL() == url {
			return t, true
		}
	}
	return TypeCount, false
}
