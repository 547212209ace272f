package harness

import (
	"fmt"
	"maps"
	"slices"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/node"
	"github.com/xdsbench/xdsbench/mesh"
)

// istioVersion is what fake proxies say they are. istiod shapes some resources
// by it.
const istioVersion = "1.31.0"

// clusterID is the name under which istiod knows the cluster it runs in.
const clusterID = "Kubernetes"

// identity makes the node of a fake proxy of a kind, as the agent beside a real
// Envoy does: the ID's form is "KIND~IP~POD.NAMESPACE~NAMESPACE.svc.DOMAIN".
func identity(p *mesh.Pod, kind string, variant xds.Variant) node.Identity {
	id := node.Identity{
		ID:       fmt.Sprintf("%s~%s~%s.%s~%s.svc.cluster.local", kind, p.IP, p.Name, p.Namespace, p.Namespace),
		Variant:  variant,
		Cluster:  p.Service + "." + p.Namespace,
		Locality: node.Locality{Region: p.Region, Zone: p.Zone},
		Metadata: func() map[string]any {
			return map[string]any{
				"NAME":            p.Name,
				"NAMESPACE":       p.Namespace,
				"SERVICE_ACCOUNT": p.ServiceAccount,
				"CLUSTER_ID":      clusterID,
				"MESH_ID":         "cluster.local",
				"ISTIO_VERSION":   istioVersion,
				"INSTANCE_IPS":    p.IP,
				"NODE_NAME":       p.Node,
				"LABELS":          labels(p, kind),
			}
		},
	}
	if kind == node.Ztunnel {
		id.Roots = []xds.Type{xds.Workload, xds.Authorization}
	}
	return id
}

// labels are the pod's, with those by which istiod tells what a gateway is for:
// the label that its ingress gateways are selected by, and those that its
// gateway controller gives to the waypoints it deploys
// (https://istio.io/latest/docs/reference/config/labels/).
func labels(p *mesh.Pod, kind string) map[string]any {
	own := make(map[string]any, len(p.Labels)+3)
	for k, v := range p.Labels {
		own[k] = v
	}
	switch kind {
	case node.Router:
		own["istio"] = "ingressgateway"
	case node.Waypoint:
		maps.Copy(own, map[string]any{
			"gateway.istio.io/managed":                     "istio.io-mesh-controller",
			"gateway.networking.k8s.io/gateway-name":       p.Service,
			"gateway.networking.k8s.io/gateway-class-name": "istio-waypoint",
		})
	}
	return own
}

// roster is who the proxies of a fleet are, in their order.
type roster struct {
	identities []node.Identity
	variants   []xds.Variant
	names      []string
	kinds      []string
	namespaces []string
}

// rosterOf gives each pod a kind and a variant, as the spec wants them. The joiners,
// which follow, are all of one kind.
func rosterOf(pods []mesh.Pod, spec fakeproxy.Spec, joiners ...mesh.Pod) roster {
	kinds := slices.Concat(spec.Kinds.Of(len(pods)), slices.Repeat([]string{spec.Turnover.KindOf()}, len(joiners)))
	pods = slices.Concat(pods, joiners)
	c := roster{
		identities: make([]node.Identity, len(pods)),
		variants:   make([]xds.Variant, len(pods)),
		names:      make([]string, len(pods)),
		kinds:      kinds,
		namespaces: make([]string, len(pods)),
	}
	seen := make(map[string]int)
	for i, kind := range c.kinds {
		c.variants[i] = spec.VariantOf(kind, seen[kind])
		c.identities[i] = identity(&pods[i], kind, c.variants[i])
		c.names[i] = pods[i].Name + "." + pods[i].Namespace
		c.namespaces[i] = pods[i].Namespace
		seen[kind]++
	}
	return c
}

// member returns a test of whether a proxy belongs to an audience. An audience without
// kinds is the proxies that are told of the whole mesh: none if the profile's mesh.scope
// says so; else all but waypoints, which learn of those services alone whose traffic goes
// through them, and ztunnels, which learn of workloads.
func (r *roster) member(scope string) func(*event.Audience, int) bool {
	return func(a *event.Audience, p int) bool {
		kind := r.kinds[p]
		switch {
		case a.Namespaces != nil && !slices.Contains(a.Namespaces, r.namespaces[p]):
			return false
		case a.Kinds != nil:
			return slices.Contains(a.Kinds, kind)
		default:
			return scope != mesh.ScopeSubscribed && kind != node.Waypoint && kind != node.Ztunnel
		}
	}
}
