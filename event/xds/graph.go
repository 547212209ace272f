package xds

// NumKnown is the number of types that a proxy may subscribe to: CDS to
// Authorization.
const NumKnown = int(OtherType)

const typePrefix = "type.googleapis.com/"

// urls returns the type URLs of the known types.
func urls() [NumKnown]string {
	return [NumKnown]string{
		CDS:           typePrefix + "envoy.config.cluster.v3.Cluster",
		EDS:           typePrefix + "envoy.config.endpoint.v3.ClusterLoadAssignment",
		LDS:           typePrefix + "envoy.config.listener.v3.Listener",
		RDS:           typePrefix + "envoy.config.route.v3.RouteConfiguration",
		SRDS:          typePrefix + "envoy.config.route.v3.ScopedRouteConfiguration",
		SDS:           typePrefix + "envoy.extensions.transport_sockets.tls.v3.Secret",
		ECDS:          typePrefix + "envoy.config.core.v3.TypedExtensionConfig",
		Workload:      typePrefix + "istio.workload.Address",
		Authorization: typePrefix + "istio.security.Authorization",
	}
}

// URL returns the type URL of a known type.
func (t Type) URL() string { return urls()[t] }

// TypeOfURL returns the type of a type URL, OtherType if it is not a known one.
func TypeOfURL(url []byte) Type {
	for t, known := range urls() {
		if string(url) == known {
			return Type(t)
		}
	}
	return OtherType
}

// IsRoot reports whether a proxy subscribes to t of its own accord, and not
// because a resource names one of t.
func (t Type) IsRoot() bool {
	return t == CDS || t == LDS || t == Workload || t == Authorization
}

// IsWildcard reports whether t is subscribed to as a whole, by naming nothing.
// Scoped routes are no root, but a listener asks for all of them.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#how-the-client-specifies-what-resources-to-return
func (t Type) IsWildcard() bool { return t.IsRoot() || t == SRDS }

// Children lists the types that resources of type t name, a type before those
// that its own resources name.
func (t Type) Children() []Type {
	switch t {
	case CDS:
		return []Type{EDS, SDS, ECDS}
	case LDS:
		return []Type{SRDS, RDS, SDS, ECDS}
	case SRDS:
		return []Type{RDS}
	default:
		return nil
	}
}

// Parents lists the types whose resources name resources of type t.
func (t Type) Parents() []Type {
	switch t {
	case EDS:
		return []Type{CDS}
	case RDS:
		return []Type{LDS, SRDS}
	case SRDS:
		return []Type{LDS}
	case SDS, ECDS:
		return []Type{CDS, LDS}
	default:
		return nil
	}
}
