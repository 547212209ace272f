package mesh

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// ConfigKind is a kind of object by which traffic is configured.
type ConfigKind string

// The kinds of Istio's API (https://istio.io/latest/docs/reference/config/).
const (
	VirtualService      ConfigKind = "virtual-service"
	DestinationRule     ConfigKind = "destination-rule"
	Sidecar             ConfigKind = "sidecar"
	serviceEntry        ConfigKind = "service-entry"
	authorizationPolicy ConfigKind = "authorization-policy"
	PeerAuthentication  ConfigKind = "peer-authentication"
	envoyFilter         ConfigKind = "envoy-filter"
	Telemetry           ConfigKind = "telemetry"
	gateway             ConfigKind = "gateway"
)

// ConfigKinds lists the kinds, those first that are for one service.
func ConfigKinds() []ConfigKind {
	return []ConfigKind{
		VirtualService, DestinationRule, serviceEntry, authorizationPolicy, envoyFilter, gateway,
		Sidecar, PeerAuthentication, Telemetry,
	}
}

// served is how Istio's API serves a kind: the name of its objects' kind, and of the
// resource. https://istio.io/latest/docs/reference/config/
func (k ConfigKind) served() (kind string, resource schema.GroupVersionResource) {
	of := func(kind, group, version, resource string) (string, schema.GroupVersionResource) {
		return kind, schema.GroupVersionResource{Group: group + ".istio.io", Version: version, Resource: resource}
	}
	switch k {
	case VirtualService:
		return of("VirtualService", "networking", "v1", "virtualservices")
	case DestinationRule:
		return of("DestinationRule", "networking", "v1", "destinationrules")
	case Sidecar:
		return of("Sidecar", "networking", "v1", "sidecars")
	case serviceEntry:
		return of("ServiceEntry", "networking", "v1", "serviceentries")
	case authorizationPolicy:
		return of("AuthorizationPolicy", "security", "v1", "authorizationpolicies")
	case PeerAuthentication:
		return of("PeerAuthentication", "security", "v1", "peerauthentications")
	case envoyFilter:
		return of("EnvoyFilter", "networking", "v1alpha3", "envoyfilters")
	case Telemetry:
		return of("Telemetry", "telemetry", "v1", "telemetries")
	case gateway:
		return of("Gateway", "networking", "v1", "gateways")
	default:
		return "", schema.GroupVersionResource{}
	}
}

// Resource returns what objects of the kind are served as; zero if there is no such kind.
func (k ConfigKind) Resource() schema.GroupVersionResource {
	_, resource := k.served()
	return resource
}

// OfNamespace reports whether there is one object of the kind in a namespace; of the
// others there is one per service. What a Sidecar and a PeerAuthentication change has
// the same name in all namespaces, so only the first namespace has one.
func (k ConfigKind) OfNamespace() bool {
	return k == Sidecar || k == PeerAuthentication || k == Telemetry
}

// ConfigObject is one config object.
type ConfigObject struct {
	Resource schema.GroupVersionResource
	Object   *unstructured.Unstructured
	// States are what proxies show while the object exists, Gone what they show without
	// it. In a run without it, Gone is the baseline.
	States, Gone []event.Expected
}

const (
	configPrefix = "xb-"
	// gatewayPorts is the first port of the gateways' servers; each gateway has two,
	// which its generations take in turn.
	gatewayPorts = 20_000
	maxGateways  = 20_000
)

// HasConfig reports whether the service has an object of a kind from the start.
func (m *Mesh) HasConfig(kind ConfigKind, s *Service) bool { return m.settled[kind][s.Key()] }

// ConfigObject returns the object of a kind for a service, or for its namespace, in a
// generation, from 0. It fails if the service cannot have one.
func (m *Mesh) ConfigObject(kind ConfigKind, s *Service, generation int) (ConfigObject, error) {
	b := configBuilder{kind: kind, service: s, generation: generation, id: string(kind) + "-" + s.name}
	if kind.OfNamespace() {
		b.id = string(kind) + "-" + s.namespace
		first := m.Namespaces[0].Name
		if kind != Telemetry && s.namespace != first {
			return ConfigObject{}, fmt.Errorf("%s: service %s: only namespace %s has one", kind, s.Key(), first)
		}
	}
	b.mark = event.Mark(b.id, generation)
	b.namespace = s.shared.sidecars[s.namespace]
	switch kind {
	case VirtualService:
		return b.virtualService(), nil
	case DestinationRule:
		return b.destinationRule(), nil
	case Sidecar:
		return b.sidecar(), nil
	case serviceEntry:
		return b.serviceEntry(), nil
	case authorizationPolicy:
		return b.authorizationPolicy(), nil
	case PeerAuthentication:
		return b.peerAuthentication(), nil
	case envoyFilter:
		return b.envoyFilter(), nil
	case Telemetry:
		return b.telemetry(), nil
	case gateway:
		return b.gateway()
	default:
		return ConfigObject{}, fmt.Errorf("config kind %q: there is no such kind", kind)
	}
}

// The kinds of proxy by which audiences are told.
const (
	kindSidecar = "sidecar"
	kindRouter  = "router"
)

// object is part of an object's content.
type object = map[string]any

type configBuilder struct {
	kind       ConfigKind
	service    *Service
	generation int
	id, mark   string
	namespace  *event.Audience // the namespace's sidecars
}

// config makes the object, in the service's namespace.
func (b *configBuilder) config(spec object) ConfigObject {
	kind, resource := b.kind.served()
	labels := object{}
	for k, v := range b.service.shared.labels {
		labels[k] = v
	}
	return ConfigObject{
		Resource: resource,
		Object: &unstructured.Unstructured{Object: object{
			"apiVersion": resource.GroupVersion().String(),
			"kind":       kind,
			"metadata":   object{"name": configPrefix + b.id, "namespace": b.service.namespace, "labels": labels},
			"spec":       spec,
		}},
	}
}

// expect adds a state with the object, and one without it.
func (c *ConfigObject) expect(t xds.Type, name string, with, without event.Fingerprint, to *event.Audience) {
	c.States = append(c.States, event.Expected{ResourceState: event.ResourceState{Type: t, Name: name, State: with}, Audience: to})
	c.Gone = append(c.Gone, event.Expected{ResourceState: event.ResourceState{Type: t, Name: name, State: without}, Audience: to})
}

// expectMark adds the mark, which is in resources of one type.
func (b *configBuilder) expectMark(c *ConfigObject, t xds.Type, to *event.Audience) {
	c.expect(t, event.MarkName(b.id), event.MarkState(b.generation), event.Absent, to)
}

// virtualService names the route to the service.
func (b *configBuilder) virtualService() ConfigObject {
	host := b.service.host()
	c := b.config(object{
		"hosts": []any{host},
		"http":  []any{object{"name": b.mark, "route": []any{object{"destination": object{"host": host}}}}},
	})
	b.expectMark(&c, xds.RDS, b.service.sidecars()) // a router has routes of its own gateways alone
	return c
}

// destinationRule sets the connect timeout of the service's clusters.
func (b *configBuilder) destinationRule() ConfigObject {
	timeout := strconv.FormatFloat(event.MarkTimeout(b.generation).Seconds(), 'f', 3, 64) + "s"
	spec := object{
		"host":          b.service.host(),
		"trafficPolicy": object{"connectionPool": object{"tcp": object{"connectTimeout": timeout}}},
	}
	if b.service.subsets {
		spec["subsets"] = subsets()
	}
	c := b.config(spec)
	for _, state := range slices.Concat(b.service.states, b.service.subsetStates(versions()...)) {
		c.expect(xds.CDS, state.Name, event.MarkState(b.generation), event.Present, b.service.audience)
	}
	return c
}

// sidecar leaves the scope of a namespace as it is and says what becomes of traffic to
// unknown hosts: allowed in even generations, as without it, and blocked in odd ones.
func (b *configBuilder) sidecar() ConfigObject {
	mode, allowed, blocked := "ALLOW_ANY", event.Present, event.Absent
	if b.generation%2 == 1 {
		mode, allowed, blocked = "REGISTRY_ONLY", event.Absent, event.Present
	}
	c := b.config(object{
		"outboundTrafficPolicy": object{"mode": mode},
		"egress":                []any{object{"hosts": []any{"*/*"}}},
	})
	c.expect(xds.RDS, "allow_any", allowed, event.Present, b.namespace)
	c.expect(xds.RDS, "block_all", blocked, event.Absent, b.namespace)
	return c
}

// serviceEntry adds a host outside the mesh, with one endpoint, of TEST-NET-2 (RFC 5737).
func (b *configBuilder) serviceEntry() ConfigObject {
	host := b.id + ".example"
	address := "198.51.100." + strconv.Itoa(b.generation%hostsPerSubnet+1)
	c := b.config(object{
		"hosts": []any{host}, "location": "MESH_EXTERNAL", "resolution": "STATIC",
		"ports":     []any{object{"number": int64(80), "name": "http", "protocol": "HTTP"}},
		"endpoints": []any{object{"address": address}},
	})
	cluster := "outbound|80||" + host
	all := b.service.shared.audience
	c.expect(xds.CDS, cluster, event.Present, event.Absent, all)
	c.expect(xds.EDS, cluster, event.FingerprintOf([]uint64{event.EndpointHash(address, 80)}), event.Absent, all)
	return c
}

// authorizationPolicy denies one path that nobody asks for.
func (b *configBuilder) authorizationPolicy() ConfigObject {
	c := b.config(object{
		"action": "DENY",
		"rules":  []any{object{"to": []any{object{"operation": object{"paths": []any{"/" + b.mark}}}}}},
	})
	b.expectMark(&c, xds.LDS, b.namespace)
	return c
}

// inboundListener is where istiod has a proxy take what is sent to it.
const inboundListener = "virtualInbound"

// peerAuthentication takes plaintext in even generations, as without it, and refuses it
// in odd ones.
func (b *configBuilder) peerAuthentication() ConfigObject {
	mode, state := "PERMISSIVE", event.Plaintext
	if b.generation%2 == 1 {
		mode, state = "STRICT", event.Present
	}
	c := b.config(object{
		"mtls": object{"mode": mode},
	})
	c.expect(xds.LDS, inboundListener, state, event.Plaintext, b.namespace)
	return c
}

// envoyFilter adds a cluster.
func (b *configBuilder) envoyFilter() ConfigObject {
	c := b.config(object{
		"configPatches": []any{object{
			"applyTo": "CLUSTER",
			"match":   object{"context": "SIDECAR_OUTBOUND"},
			"patch": object{"operation": "ADD", "value": object{
				"name": b.mark, "type": "STATIC", "connect_timeout": "1s",
			}},
		}},
	})
	b.expectMark(&c, xds.CDS, b.namespace)
	return c
}

// telemetry filters the access log of a namespace.
func (b *configBuilder) telemetry() ConfigObject {
	c := b.config(object{
		"accessLogging": []any{object{
			"providers": []any{object{"name": "envoy"}},
			"filter":    object{"expression": "request.path == '/" + b.mark + "'"},
		}},
	})
	b.expectMark(&c, xds.LDS, b.namespace)
	return c
}

// gateway opens a port at all routers, one of two in turn.
func (b *configBuilder) gateway() (ConfigObject, error) {
	number := b.service.number
	if number >= maxGateways {
		return ConfigObject{}, fmt.Errorf("gateway: service %s: there are ports for %d gateways", b.service.Key(), maxGateways)
	}
	port := func(generation int) int { return gatewayPorts + 2*number + generation%2 }
	c := b.config(object{
		"servers": []any{object{
			"port":  object{"number": int64(port(b.generation)), "name": "http", "protocol": "HTTP"},
			"hosts": []any{b.id + ".example"},
		}},
	})
	routers := b.service.shared.routers
	listener := func(generation int) string { return "0.0.0.0_" + strconv.Itoa(port(generation)) }
	c.expect(xds.LDS, listener(b.generation), event.Present, event.Absent, routers)
	c.expect(xds.LDS, listener(b.generation+1), event.Absent, event.Absent, routers)
	return c, nil
}
