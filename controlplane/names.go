package controlplane

import (
	"fmt"
	"strings"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

const (
	clusterDomain = "cluster.local"

	blackHoleCluster   = "BlackHoleCluster"
	passthroughCluster = "PassthroughCluster"
	inboundPassthrough = "InboundPassthroughCluster"

	virtualOutbound = "virtualOutbound"
	virtualInbound  = "virtualInbound"
)

// xdsType numbers the served types in the order of a push: a type comes after
// those it refers to, so that nothing is announced before it can be resolved
// (xDS protocol, "Eventual consistency considerations").
type xdsType int

const (
	typeCDS xdsType = iota
	typeEDS
	typeLDS
	typeRDS
	typeCount
)

func (t xdsType) url() string {
	return [typeCount]string{
		resource.ClusterType, resource.EndpointType, resource.ListenerType, resource.RouteType,
	}[t]
}

// label is how istiod's metrics name the type.
func (t xdsType) label() string {
	return [typeCount]string{"cds", "eds", "lds", "rds"}[t]
}

// wildcard tells whether a request without names means all resources. For EDS
// and RDS it means none.
func (t xdsType) wildcard() bool { return t == typeCDS || t == typeLDS }

func typeOf(url string) (xdsType, bool) {
	for t := range typeCount {
		if t.url() == url {
			return t, true
		}
	}
	return typeCount, false
}

func outboundName(s *service, port uint32) string {
	return fmt.Sprintf("outbound|%d||%s", port, s.hostname())
}

func inboundName(port uint32) string {
	return fmt.Sprintf("inbound|%d||", port)
}

// nodeID is a proxy's identity as sidecars put it into node.id:
// type~address~name.namespace~domain.
type nodeID struct {
	kind      string
	address   string
	name      string // pod.namespace; the whole ID if it has another form
	namespace string
}

// parseNodeID accepts any ID. One of another form than a sidecar's gives a
// proxy without address, that is without inbound configuration.
func parseNodeID(id string) nodeID {
	parts := strings.Split(id, "~")
	if len(parts) != 4 {
		return nodeID{name: id}
	}
	out := nodeID{kind: parts[0], address: parts[1], name: parts[2]}
	if dot := strings.LastIndexByte(out.name, '.'); dot >= 0 {
		out.namespace = out.name[dot+1:]
	}
	return out
}
