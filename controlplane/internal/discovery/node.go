package discovery

import (
	"cmp"
	"strings"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// node is a proxy's identity. Sidecars put it into node.id as
// type~address~name.namespace~domain.
type node struct {
	id        string
	kind      string
	address   string
	name      string // pod.namespace; the whole ID if it has another form
	namespace string
	version   string // of the proxy, "unknown" if it does not say
	clusterID string // of the Kubernetes cluster
}

// newNode accepts any ID. If it does not have the form of a sidecar's, the proxy
// has no address, and so no inbound configuration.
func newNode(n *core.Node) node {
	fields := n.GetMetadata().GetFields()
	out := node{
		id:        n.GetId(),
		name:      n.GetId(),
		version:   cmp.Or(fields["ISTIO_VERSION"].GetStringValue(), "unknown"),
		clusterID: fields["CLUSTER_ID"].GetStringValue(),
	}
	parts := strings.Split(n.GetId(), "~")
	if len(parts) != 4 {
		return out
	}
	out.kind, out.address, out.name = parts[0], parts[1], parts[2]
	if dot := strings.LastIndexByte(out.name, '.'); dot >= 0 {
		out.namespace = out.name[dot+1:]
	}
	return out
}
