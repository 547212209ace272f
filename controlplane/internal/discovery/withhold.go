package discovery

import (
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/xdsbench/xdsbench/controlplane/internal/snapshot"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// earlyEndpoints is how many clusters of a proxy come after their endpoints, as
// an injected fault.
const earlyEndpoints = 3

// withholdLocked decides which clusters the first answer of a proxy that gets
// types out of order leaves out. They follow, by withheldClustersLocked, a
// response into which withEarlyEndpointsLocked has put their endpoints.
func (c *connection) withholdLocked(s *snapshot.Snapshot) {
	if !c.faults.Disordered(c.node.name) || c.watches[xds.EDS].open {
		return
	}
	names := s.EDSClusters()
	// One at least stays, so that the proxy asks for endpoints.
	c.withheld = sets.New(names[max(1, len(names)-earlyEndpoints):]...)
}

// withoutWithheldLocked returns clusters without those that are withheld.
func (c *connection) withoutWithheldLocked(clusters *xds.Bundle) *xds.Bundle {
	if len(c.withheld) == 0 {
		return clusters
	}
	return clusters.Filter(func(r *discovery.Resource) bool { return !c.withheld.Has(r.GetName()) })
}

// withEarlyEndpointsLocked adds the endpoints of withheld clusters to an
// answer.
func (c *connection) withEarlyEndpointsLocked(s *snapshot.Snapshot, endpoints *xds.Bundle) *xds.Bundle {
	if len(c.withheld) == 0 {
		return endpoints
	}
	c.faults.RecordEarly(c.node.name, len(c.withheld))
	return xds.NewBundle(endpoints.Resources, s.EndpointsNamed(sets.List(c.withheld)).Resources)
}

// withheldClustersLocked returns the clusters that were withheld, once the
// endpoints of t have been answered; nil if there are none.
func (c *connection) withheldClustersLocked(t xds.Type) *response {
	if t != xds.EDS || len(c.withheld) == 0 {
		return nil
	}
	began := time.Now()
	s, withheld := c.server.snapshot.Load(), c.withheld
	c.withheld = nil
	content := c.inboundLocked(s).Clusters
	if c.delta {
		content = content.Filter(func(r *discovery.Resource) bool { return withheld.Has(r.GetName()) })
	}
	return &response{kind: xds.CDS, version: s.Version, content: content, buildTime: time.Since(began)}
}
