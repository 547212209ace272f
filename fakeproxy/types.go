package fakeproxy

import (
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/event/xds"
)

const typePrefix = "type.googleapis.com/"

// The type URLs of the resources a proxy subscribes to.
const (
	clusterURL       = typePrefix + "envoy.config.cluster.v3.Cluster"
	endpointURL      = typePrefix + "envoy.config.endpoint.v3.ClusterLoadAssignment"
	listenerURL      = typePrefix + "envoy.config.listener.v3.Listener"
	routeURL         = typePrefix + "envoy.config.route.v3.RouteConfiguration"
	scopeURL         = typePrefix + "envoy.config.route.v3.ScopedRouteConfiguration"
	secretURL        = typePrefix + "envoy.extensions.transport_sockets.tls.v3.Secret"
	extensionURL     = typePrefix + "envoy.config.core.v3.TypedExtensionConfig"
	addressURL       = typePrefix + "istio.workload.Address"
	authorizationURL = typePrefix + "istio.security.Authorization"

	// wrapperURL is the envelope by which SotW gives a resource a name and a TTL.
	wrapperURL = typePrefix + "envoy.service.discovery.v3.Resource"
)

// numTypes is the number of types that proxies may subscribe to: event.CDS to
// event.Authorization.
const numTypes = int(xds.OtherType)

// typeURL returns the URL of one of the numTypes types.
func typeURL(t xds.Type) string {
	return [numTypes]string{
		clusterURL, endpointURL, listenerURL, routeURL, scopeURL, secretURL, extensionURL, addressURL, authorizationURL,
	}[t]
}

// typeOf returns the type of a URL; event.OtherType if no proxy subscribes to it.
func typeOf(url []byte) xds.Type {
	switch string(url) {
	case clusterURL:
		return xds.CDS
	case endpointURL:
		return xds.EDS
	case listenerURL:
		return xds.LDS
	case routeURL:
		return xds.RDS
	case scopeURL:
		return xds.SRDS
	case secretURL:
		return xds.SDS
	case extensionURL:
		return xds.ECDS
	case addressURL:
		return xds.Workload
	case authorizationURL:
		return xds.Authorization
	}
	return xds.OtherType
}

func typeByShortName(name string) (xds.Type, bool) {
	for t := range xds.Type(numTypes) {
		if t.String() == name {
			return t, true
		}
	}
	return xds.OtherType, false
}

// shortNames lists the types for an error's advice.
func shortNames() string {
	var names []string
	for t := range xds.Type(numTypes) {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

// isRoot reports whether a proxy subscribes to t of its own accord, and not
// because a resource names one of t.
func isRoot(t xds.Type) bool {
	return t == xds.CDS || t == xds.LDS || t == xds.Workload || t == xds.Authorization
}

// isWildcard reports whether t is subscribed to as a whole, by naming nothing.
// Scoped routes are both: a listener asks for all of them.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#how-the-client-specifies-what-resources-to-return
func isWildcard(t xds.Type) bool { return isRoot(t) || t == xds.SRDS }

// wildcard is the name that stands for a subscription as a whole: among the
// children that a listener names it means "scoped routes".
const wildcard = "*"

// childrenOf lists the types that resources of type t name, a type before
// those that its own resources name.
func childrenOf(t xds.Type) []xds.Type {
	switch t {
	case xds.CDS:
		return []xds.Type{xds.EDS, xds.SDS, xds.ECDS}
	case xds.LDS:
		return []xds.Type{xds.SRDS, xds.RDS, xds.SDS, xds.ECDS}
	case xds.SRDS:
		return []xds.Type{xds.RDS}
	default:
		return nil
	}
}

// parentsOf lists the types whose resources name resources of type t.
func parentsOf(t xds.Type) []xds.Type {
	switch t {
	case xds.EDS:
		return []xds.Type{xds.CDS}
	case xds.RDS:
		return []xds.Type{xds.LDS, xds.SRDS}
	case xds.SRDS:
		return []xds.Type{xds.LDS}
	case xds.SDS, xds.ECDS:
		return []xds.Type{xds.CDS, xds.LDS}
	default:
		return nil
	}
}

// agentServes reports whether a secret comes from the agent beside a proxy and
// never over ADS: the workload's own certificate and root, and files.
// https://istio.io/latest/docs/ops/configuration/traffic-management/tls-configuration/
func agentServes(secret string) bool {
	return slices.Contains([]string{"default", "ROOTCA"}, secret) ||
		strings.HasPrefix(secret, "file-root:") || strings.HasPrefix(secret, "file-cert:")
}
