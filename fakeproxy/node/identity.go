package node

import (
	"fmt"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsbench/xdsbench/event/xds"
)

// Locality is where a proxy runs, as its node tells.
type Locality struct {
	Region string
	Zone   string
}

// Identity is who a proxy claims to be.
type Identity struct {
	// ID is the node ID, for istiod "sidecar~IP~pod.ns~ns.svc.cluster.local".
	ID string
	// Cluster is the node's cluster, the service it belongs to. May be empty.
	Cluster string
	// Metadata returns the node metadata, of values that structpb accepts. It is
	// called for each stream, so that a large fleet does not hold it, and must
	// return the same each time. May be nil.
	Metadata func() map[string]any
	Locality Locality
	Variant  xds.Variant
	// Roots are the types that the proxy asks for of its own accord. Empty means
	// clusters and listeners, as Envoy does; ztunnel asks for xds.Workload and
	// xds.Authorization, in the Delta variant only.
	Roots []xds.Type
}

// isEnvoy reports whether root types are those of an Envoy.
func isEnvoy(roots []xds.Type) bool {
	return slices.Contains(roots, xds.CDS) || slices.Contains(roots, xds.LDS)
}

// EachRequest reports whether the node goes with the first request for each type,
// as ztunnel does, and not with the first request of a stream alone.
func (id *Identity) EachRequest() bool {
	roots, err := id.RootTypes()
	return err == nil && !isEnvoy(roots)
}

// RootTypes returns what the proxy asks for of its own accord, in the order in
// which it does.
func (id *Identity) RootTypes() ([]xds.Type, error) {
	if len(id.Roots) == 0 {
		return []xds.Type{xds.CDS, xds.LDS}, nil
	}
	roots := slices.Clone(id.Roots)
	slices.Sort(roots)
	for _, t := range roots {
		if !t.IsRoot() {
			return nil, fmt.Errorf("proxy %q: root type %s: must be cds, lds, workload or authorization", id.ID, t)
		}
		if id.Variant == xds.SotW && (t == xds.Workload || t == xds.Authorization) {
			return nil, fmt.Errorf("proxy %q: root type %s: is served in the Delta variant only", id.ID, t)
		}
	}
	return slices.Compact(roots), nil
}

// clientFeatures are those of Envoy that change what a server may send.
// https://www.envoyproxy.io/docs/envoy/latest/api/client_features
func clientFeatures() []string {
	return []string{
		"envoy.lb.does_not_support_overprovisioning",
		"envoy.lrs.supports_send_all_clusters",
		"xds.config.supports-resource-ttl",
		"xds.config.supports-resource-in-sotw",
	}
}

// Encode encodes the node that goes with the first request of each stream: Envoy
// is set up with set_node_on_first_message_only for ADS.
func (id *Identity) Encode() ([]byte, error) {
	n := &corev3.Node{
		Id: id.ID, Cluster: id.Cluster,
		Locality: &corev3.Locality{Region: id.Locality.Region, Zone: id.Locality.Zone},
	}
	if roots, err := id.RootTypes(); err == nil && isEnvoy(roots) {
		n.UserAgentName, n.ClientFeatures = "envoy", clientFeatures()
	}
	if id.Metadata != nil {
		var err error
		if n.Metadata, err = structpb.NewStruct(id.Metadata()); err != nil {
			return nil, fmt.Errorf("proxy %q: metadata: %w", id.ID, err)
		}
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("proxy %q: node: %w", id.ID, err)
	}
	return b, nil
}
