package kube

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// The group of Istio's traffic API, its version, and the plural names of the kinds
// that are known (https://istio.io/latest/docs/reference/config/networking/).
const (
	ConfigGroup      = "networking.istio.io"
	ConfigVersion    = "v1"
	Sidecars         = "sidecars"
	DestinationRules = "destinationrules"
	VirtualServices  = "virtualservices"
)

// Sidecar is what a Sidecar object says of all proxies of its namespace.
type Sidecar struct {
	Name         types.NamespacedName
	RegistryOnly bool // unknown hosts are not let through
	Egress       []Egress
}

// Egress is one egress listener, or with no port those that there are without it.
type Egress struct {
	Port     uint32 // 0 for none
	Bind     string // address to listen on
	Protocol Protocol
	Hosts    []string // NAMESPACE/HOST
}

// NewSidecar returns nil if the object is only for some workloads of its namespace,
// or has no egress listener and no policy.
func NewSidecar(object *unstructured.Unstructured) *Sidecar {
	spec := mapOf(object.Object, "spec")
	if len(mapOf(spec, "workloadSelector")) > 0 {
		return nil
	}
	s := &Sidecar{
		Name:         nameOf(object),
		RegistryOnly: textOf(mapOf(spec, "outboundTrafficPolicy"), "mode") == "REGISTRY_ONLY",
	}
	for _, entry := range mapsOf(spec, "egress") {
		port := mapOf(entry, "port")
		e := Egress{
			Port:     uint32(numberOf(port, "number")),
			Bind:     cmp.Or(textOf(entry, "bind"), "0.0.0.0"),
			Protocol: protocolNamed(textOf(port, "protocol")),
		}
		hosts, _, _ := unstructured.NestedStringSlice(entry, "hosts")
		for _, host := range hosts {
			if own, ok := strings.CutPrefix(host, "./"); ok {
				host = s.Name.Namespace + "/" + own
			}
			e.Hosts = append(e.Hosts, host)
		}
		s.Egress = append(s.Egress, e)
	}
	return s
}

// Sees tells whether an egress listener lets proxies see a service; all see what they
// could without the object if it has none.
func (s *Sidecar) Sees(service *Service) bool {
	return s == nil || len(s.Egress) == 0 ||
		slices.ContainsFunc(s.Egress, func(e Egress) bool { return e.Sees(service) })
}

// Sees tells whether one of the hosts is the service's.
func (e *Egress) Sees(service *Service) bool {
	return slices.ContainsFunc(e.Hosts, func(pattern string) bool {
		namespace, host, _ := strings.Cut(pattern, "/")
		if namespace != "*" && namespace != service.Name.Namespace {
			return false
		}
		if suffix, ok := strings.CutPrefix(host, "*"); ok {
			return strings.HasSuffix(service.Hostname(), suffix)
		}
		return host == service.Hostname()
	})
}

// DestinationRule is what a DestinationRule says of a host.
type DestinationRule struct {
	Name           types.NamespacedName
	Host           types.NamespacedName
	ConnectTimeout time.Duration // 0 if it says nothing
	Subsets        []Subset
}

// Subset is the endpoints of pods with some labels.
type Subset struct {
	Name           string
	Labels         map[string]string
	ConnectTimeout time.Duration // as for the host
}

// NewDestinationRule returns nil if the object's host is no service.
func NewDestinationRule(object *unstructured.Unstructured) *DestinationRule {
	spec := mapOf(object.Object, "spec")
	host, ok := serviceNamed(textOf(spec, "host"), object.GetNamespace())
	if !ok {
		return nil
	}
	r := &DestinationRule{Name: nameOf(object), Host: host, ConnectTimeout: connectTimeoutOf(spec)}
	for _, entry := range mapsOf(spec, "subsets") {
		labels, _, _ := unstructured.NestedStringMap(entry, "labels")
		r.Subsets = append(r.Subsets, Subset{
			Name: textOf(entry, "name"), Labels: labels,
			ConnectTimeout: cmp.Or(connectTimeoutOf(entry), r.ConnectTimeout),
		})
	}
	return r
}

// HasSubsets tells whether the labels of pods matter; r may be nil.
func (r *DestinationRule) HasSubsets() bool { return r != nil && len(r.Subsets) > 0 }

func connectTimeoutOf(of map[string]any) time.Duration {
	return durationOf(mapOf(of, "trafficPolicy", "connectionPool", "tcp"), "connectTimeout")
}

// VirtualService is what a VirtualService says of requests in the mesh.
type VirtualService struct {
	Name   types.NamespacedName
	Hosts  []types.NamespacedName
	Routes []HTTPRoute
}

// HTTPRoute is one route of a VirtualService.
type HTTPRoute struct {
	Name    string
	Timeout time.Duration // 0 for none
	Subset  string        // of the host; empty for all of it
}

// NewVirtualService returns nil if the object has no routes for a service in the mesh.
func NewVirtualService(object *unstructured.Unstructured) *VirtualService {
	spec := mapOf(object.Object, "spec")
	gateways, _, _ := unstructured.NestedStringSlice(spec, "gateways")
	if len(gateways) > 0 && !slices.Contains(gateways, "mesh") {
		return nil
	}
	v := &VirtualService{Name: nameOf(object)}
	hosts, _, _ := unstructured.NestedStringSlice(spec, "hosts")
	for _, text := range hosts {
		if host, ok := serviceNamed(text, object.GetNamespace()); ok {
			v.Hosts = append(v.Hosts, host)
		}
	}
	for _, entry := range mapsOf(spec, "http") {
		route := HTTPRoute{Name: textOf(entry, "name"), Timeout: durationOf(entry, "timeout")}
		if to := mapsOf(entry, "route"); len(to) > 0 {
			route.Subset = textOf(mapOf(to[0], "destination"), "subset")
		}
		v.Routes = append(v.Routes, route)
	}
	if len(v.Hosts) == 0 || len(v.Routes) == 0 {
		return nil
	}
	return v
}

// serviceNamed returns the service that a host of an object in namespace names, in
// full or as "service", "service.namespace" or "service.namespace.svc".
func serviceNamed(host, namespace string) (types.NamespacedName, bool) {
	if host == "" || strings.Contains(host, "*") || net.ParseIP(host) != nil {
		return types.NamespacedName{}, false
	}
	host = strings.TrimSuffix(strings.TrimSuffix(host, "."+clusterDomain), ".svc")
	name, of, qualified := strings.Cut(host, ".")
	if !qualified {
		of = namespace
	}
	return types.NamespacedName{Namespace: of, Name: name}, !strings.Contains(of, ".")
}

func nameOf(object *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

func mapOf(of map[string]any, path ...string) map[string]any {
	m, _, _ := unstructured.NestedFieldNoCopy(of, path...)
	out, _ := m.(map[string]any)
	return out
}

func mapsOf(of map[string]any, field string) []map[string]any {
	list, _ := of[field].([]any)
	var out []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func textOf(of map[string]any, field string) string {
	text, _ := of[field].(string)
	return text
}

func numberOf(of map[string]any, field string) int64 {
	switch n := of[field].(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	case string:
		parsed, _ := strconv.ParseInt(n, 10, 32)
		return parsed
	default:
		return 0
	}
}

func durationOf(of map[string]any, field string) time.Duration {
	d, _ := time.ParseDuration(textOf(of, field))
	return max(0, d)
}
