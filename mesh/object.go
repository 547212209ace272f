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

// Object is a config object of Istio that churn adds, updates or removes. It is about one
// service, or the namespace of it. Its generations, from 1, differ in something that
// proxies show, where the kind has anything that they show; generation 0 is none.
type Object struct {
	// Kind is as profiles name it, such as "virtual-service".
	Kind string
	// Namespace and Name are the object's.
	Namespace, Name string
	// Number is unique among the objects of the run.
	Number int
}

// ObjectKinds lists the kinds of Object.
func ObjectKinds() []string {
	return []string{
		"virtual-service", "destination-rule", "sidecar", "service-entry", "authorization-policy",
		"peer-authentication", "envoy-filter", "telemetry", "gateway",
	}
}

// fields are the content of an object.
type fields = map[string]any

// objectPort is the first port of those that sidecars and gateways listen on for objects;
// each object has some of its own, for its generations in turn.
const (
	objectPort   = 30_000
	portsOfOne   = 8
	maxObjects   = 2_000
	externalPort = 80
)

// Key returns "namespace/name".
func (o Object) Key() string { return o.Namespace + "/" + o.Name }

// Resource returns what the object is served as.
func (o Object) Resource() schema.GroupVersionResource {
	of := func(group, version, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group + ".istio.io", Version: version, Resource: resource}
	}
	switch o.Kind {
	case "virtual-service":
		return of("networking", "v1", "virtualservices")
	case "destination-rule":
		return of("networking", "v1", "destinationrules")
	case "sidecar":
		return of("networking", "v1", "sidecars")
	case "service-entry":
		return of("networking", "v1", "serviceentries")
	case "gateway":
		return of("networking", "v1", "gateways")
	case "envoy-filter":
		return of("networking", "v1alpha3", "envoyfilters")
	case "authorization-policy":
		return of("security", "v1", "authorizationpolicies")
	case "peer-authentication":
		return of("security", "v1", "peerauthentications")
	default:
		return of("telemetry", "v1", "telemetries")
	}
}

// manifestKinds are the kinds as manifests say them, in the order of ObjectKinds.
func manifestKinds() []string {
	return []string{
		"VirtualService", "DestinationRule", "Sidecar", "ServiceEntry", "AuthorizationPolicy",
		"PeerAuthentication", "EnvoyFilter", "Telemetry", "Gateway",
	}
}

// ResourceOf returns what a manifest of one of the kinds is served as.
func ResourceOf(u *unstructured.Unstructured) schema.GroupVersionResource {
	at := max(slices.Index(manifestKinds(), u.GetKind()), 0)
	return Object{Kind: ObjectKinds()[at]}.Resource()
}

func (o Object) manifestKind() string { return manifestKinds()[slices.Index(ObjectKinds(), o.Kind)] }

func (o Object) mark(generation int) string { return event.Mark(o.Name, generation) }

func (o Object) port(generation int) int {
	return objectPort + o.Number%maxObjects*portsOfOne + generation%portsOfOne
}

func (o Object) externalHost() string { return o.Name + ".external.test" }

// address is that of the only endpoint of a service entry, of RFC 2544.
func (o Object) address(generation int) string {
	return fmt.Sprintf("198.19.%d.%d", o.Number%200, generation%250+1)
}

// Manifest returns an object about this service in a generation.
func (s *Service) Manifest(o Object, generation int) *unstructured.Unstructured {
	labels := fields{}
	for k, v := range s.shared.labels {
		labels[k] = v
	}
	r := o.Resource()
	return &unstructured.Unstructured{Object: fields{
		"apiVersion": r.Group + "/" + r.Version,
		"kind":       o.manifestKind(),
		"metadata":   fields{"name": o.Name, "namespace": o.Namespace, "labels": labels},
		"spec":       o.spec(s, generation),
	}}
}

func (o Object) spec(s *Service, n int) fields {
	host := s.name + "." + s.namespace + ".svc.cluster.local"
	list := func(of ...any) []any { return of }
	switch o.Kind {
	case "virtual-service":
		return fields{"hosts": list(host), "http": list(fields{
			"name": o.mark(n), "route": list(fields{"destination": fields{"host": host}}),
		})}
	case "destination-rule":
		return fields{"host": host, "trafficPolicy": fields{"connectionPool": fields{"tcp": fields{
			"connectTimeout": strconv.FormatFloat(event.MarkTimeout(n).Seconds(), 'f', 3, 64) + "s",
		}}}}
	case "sidecar":
		return fields{"egress": list(
			fields{
				"port": fields{"number": int64(o.port(n)), "protocol": "HTTP", "name": "http-mark"},
				"bind": "127.0.0.1", "hosts": list(s.namespace + "/*"),
			},
			fields{"hosts": list("*/*")},
		)}
	case "service-entry":
		return fields{
			"hosts": list(o.externalHost()), "location": "MESH_EXTERNAL", "resolution": "STATIC",
			"ports":     list(fields{"number": int64(externalPort), "name": "http", "protocol": "HTTP"}),
			"endpoints": list(fields{"address": o.address(n)}),
		}
	case "authorization-policy":
		return fields{"action": "DENY", "rules": list(fields{"to": list(fields{"operation": fields{
			"paths": list("/" + o.mark(n)),
		}})})}
	case "peer-authentication":
		return fields{"mtls": fields{"mode": []string{"PERMISSIVE", "STRICT"}[n%2]}}
	case "envoy-filter":
		return fields{"configPatches": list(fields{
			"applyTo": "HTTP_FILTER",
			"match": fields{"context": "SIDECAR_INBOUND", "listener": fields{"filterChain": fields{"filter": fields{
				"name": "envoy.filters.network.http_connection_manager",
			}}}},
			"patch": fields{"operation": "INSERT_BEFORE", "value": fields{
				"name": o.Name,
				"typed_config": fields{
					"@type":               "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
					"default_source_code": fields{"inline_string": "-- " + o.mark(n)},
				},
			}},
		})}
	case "gateway":
		return fields{"selector": fields{"istio": "ingressgateway"}, "servers": list(fields{
			"port": fields{"number": int64(o.port(n)), "protocol": "HTTP", "name": "http-mark"}, "hosts": list("*"),
		})}
	default:
		return fields{"accessLogging": list(fields{
			"providers": list(fields{"name": "envoy"}),
			"filter":    fields{"expression": "request.path == '/" + o.mark(n) + "'"},
		})}
	}
}

// Shown returns what proxies show of an object about this service in a generation. It is
// nil for a kind of which they show nothing.
func (s *Service) Shown(o Object, generation int) []event.Expected {
	local := s.shared.sidecarsIn(s.namespace)
	one := func(t xds.Type, name string, state event.Fingerprint, a *event.Audience) event.Expected {
		return event.Expected{ResourceState: event.ResourceState{Type: t, Name: name, State: state}, Audience: a}
	}
	mark := func(t xds.Type, a *event.Audience) []event.Expected {
		if generation == 0 {
			return nil
		}
		return []event.Expected{one(t, event.MarkName(o.Name), event.MarkState(generation), a)}
	}
	switch o.Kind {
	case "virtual-service":
		return mark(xds.RDS, s.shared.sidecars)
	case "authorization-policy", "envoy-filter", "telemetry":
		return mark(xds.LDS, local)
	case "destination-rule":
		var out []event.Expected
		state := event.Present
		if generation > 0 {
			state = event.MarkState(generation)
		}
		for _, eds := range s.states {
			out = append(out, one(xds.CDS, eds.Name, state, s.shared.audience))
		}
		return out
	}
	if generation == 0 {
		return nil
	}
	port := strconv.Itoa(o.port(generation))
	switch o.Kind {
	case "sidecar":
		return []event.Expected{one(xds.LDS, "127.0.0.1_"+port, event.Present, local)}
	case "gateway":
		return []event.Expected{one(xds.LDS, "0.0.0.0_"+port, event.Present, s.shared.routers)}
	case "service-entry":
		external := strconv.Itoa(externalPort)
		cluster := "outbound|" + external + "||" + o.externalHost()
		endpoint := event.EndpointHash(o.address(generation), externalPort)
		return []event.Expected{
			one(xds.CDS, cluster, event.Present, s.shared.audience),
			one(xds.EDS, cluster, event.FingerprintOf([]uint64{endpoint}), s.shared.audience),
			one(xds.RDS, o.externalHost()+":"+external, event.Present, s.shared.sidecars),
		}
	}
	return nil
}

// Changed returns what proxies show otherwise in one generation than in another.
func (s *Service) Changed(o Object, from, to int) []event.Expected {
	type name struct {
		t    xds.Type
		name string
	}
	before := map[name]event.Fingerprint{}
	for _, r := range s.Shown(o, from) {
		before[name{r.Type, r.Name}] = r.State
	}
	var out []event.Expected
	after := map[name]bool{}
	for _, r := range s.Shown(o, to) {
		k := name{r.Type, r.Name}
		after[k] = true
		if state, ok := before[k]; !ok || state != r.State {
			out = append(out, r)
		}
	}
	for _, r := range absent(s.Shown(o, from)) {
		if !after[name{r.Type, r.Name}] {
			out = append(out, r)
		}
	}
	return out
}
