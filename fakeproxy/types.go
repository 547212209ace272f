package fakeproxy

import "github.com/xdsbench/xdsbench/event"

const typePrefix = "type.googleapis.com/"

// The type URLs of the resources a proxy subscribes to, by event.Type.
const (
	clusterURL  = typePrefix + "envoy.config.cluster.v3.Cluster"
	endpointURL = typePrefix + "envoy.config.endpoint.v3.ClusterLoadAssignment"
	listenerURL = typePrefix + "envoy.config.listener.v3.Listener"
	routeURL    = typePrefix + "envoy.config.route.v3.RouteConfiguration"

	// wrapperURL is the envelope by which SotW gives a resource a name and a TTL.
	wrapperURL = typePrefix + "envoy.service.discovery.v3.Resource"
)

// numTypes is the number of types a proxy subscribes to: event.CDS to event.RDS.
const numTypes = 4

// typeURL returns the URL of one of the numTypes types.
func typeURL(t event.Type) string {
	return [numTypes]string{clusterURL, endpointURL, listenerURL, routeURL}[t]
}

// typeOf returns the type of a URL, and whether proxies subscribe to it.
func typeOf(url []byte) (event.Type, bool) {
	switch string(url) {
	case clusterURL:
		return event.CDS, true
	case endpointURL:
		return event.EDS, true
	case listenerURL:
		return event.LDS, true
	case routeURL:
		return event.RDS, true
	}
	return event.OtherType, false
}

func typeByShortName(name string) (event.Type, bool) {
	for t := range event.Type(numTypes) {
		if t.String() == name {
			return t, true
		}
	}
	return event.OtherType, false
}

// A proxy's state has two branches, each a pair of types: clusters with the
// endpoints they name, and listeners with the routes they name.
const (
	clusterBranch = iota
	listenerBranch
	numBranches
)

// isRoot reports whether t is a parent type, subscribed to by wildcard.
func isRoot(t event.Type) bool { return t == event.CDS || t == event.LDS }

// branchOf returns the branch that t belongs to.
func branchOf(t event.Type) int {
	if t == event.CDS || t == event.EDS {
		return clusterBranch
	}
	return listenerBranch
}

// childOf returns the type of a branch that is named by the other.
func childOf(branch int) event.Type {
	return [numBranches]event.Type{event.EDS, event.RDS}[branch]
}
