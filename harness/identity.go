package harness

import (
	"fmt"
	"maps"

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
}

// rosterOf gives each pod a kind and a variant, as the spec wants them.
func rosterOf(pods []mesh.Pod, spec fakeproxy.Spec) roster {
	c := roster{
		identities: make([]node.Identity, len(pods)),
		variants:   make([]xds.Variant, len(pods)),
		names:      make([]string, len(pods)),
		kinds:      spec.Kinds.Of(len(pods)),
	}
	seen := make(map[string]int)
	for i, kind := range c.kinds {
		c.variants[i] = spec.VariantOf(kind, seen[kind])
		c.identities[i] = identity(&pods[i], kind, c.variants[i])
		c.names[i] = pods[i].Name + "." + pods[i].Namespace
		seen[kind]++
	}
	return c
}

// scoped says of each proxy whether it is told of only a part of the mesh: all are if
// the profile's mesh.scope says so. Else a waypoint
// learns of those services alone whose traffic goes through it, and a ztunnel of
// workloads.
func (r *roster) scoped(scope string) []bool {
	all := make([]bool, len(r.kinds))
	for i, kind := range r.kinds {
		all[i] = scope == mesh.ScopeSubscribed || kind == node.Waypoint || kind == node.Ztunnel
	}
	return all
}
