// Package generate makes the resources of services and workloads, named and
// shaped as istiod's.
package generate

import (
	"fmt"
	"strconv"

	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
)

const (
	blackHoleCluster   = "BlackHoleCluster"
	passthroughCluster = "PassthroughCluster"
	inboundPassthrough = "InboundPassthroughCluster"

	virtualOutbound = "virtualOutbound"
	virtualInbound  = "virtualInbound"
)

// ClusterName is the name of the cluster of a service port, and of its load
// assignment.
func ClusterName(s *kube.Service, port uint32) string {
	return subsetName(s, port, "")
}

// subsetName is the name of the cluster of a subset, and of its load assignment.
func subsetName(s *kube.Service, port uint32, subset string) string {
	return fmt.Sprintf("outbound|%d|%s|%s", port, subset, s.Hostname())
}

func inboundName(port uint32) string {
	return fmt.Sprintf("inbound|%d||", port)
}

// RouteName is the name of the route configuration that all HTTP services on
// a port share.
func RouteName(port uint32) string { return decimal(port) }

func decimal(port uint32) string { return strconv.FormatUint(uint64(port), 10) }
