package harness

import (
	"fmt"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/mesh"
)

// istioVersion is what fake sidecars say they are. istiod shapes some
// resources by it.
const istioVersion = "1.31.0"

// clusterID is the name under which istiod knows the cluster it runs in.
const clusterID = "Kubernetes"

// sidecarIdentity makes the node of a fake proxy, as the agent beside a real
// Envoy does: the ID's form is "sidecar~IP~POD.NAMESPACE~NAMESPACE.svc.DOMAIN".
func sidecarIdentity(p *mesh.Pod, variant event.Variant) fakeproxy.Identity {
	return fakeproxy.Identity{
		ID:       fmt.Sprintf("sidecar~%s~%s.%s~%s.svc.cluster.local", p.IP, p.Name, p.Namespace, p.Namespace),
		Variant:  variant,
		Cluster:  p.Service + "." + p.Namespace,
		Locality: fakeproxy.Locality{Region: p.Region, Zone: p.Zone},
		Metadata: map[string]any{
			"NAME":            p.Name,
			"NAMESPACE":       p.Namespace,
			"SERVICE_ACCOUNT": p.ServiceAccount,
			"CLUSTER_ID":      clusterID,
			"MESH_ID":         "cluster.local",
			"ISTIO_VERSION":   istioVersion,
			"INSTANCE_IPS":    p.IP,
			"NODE_NAME":       p.Node,
			"LABELS":          labels(p.Labels),
		},
	}
}

func labels(from map[string]string) map[string]any {
	to := make(map[string]any, len(from))
	for k, v := range from {
		to[k] = v
	}
	return to
}

// variantOf returns the variant of proxy i under the profile's setting.
func variantOf(setting string, i int) event.Variant {
	switch {
	case setting == "delta", setting == "mixed" && i%2 == 1:
		return event.Delta
	default:
		return event.SotW
	}
}
