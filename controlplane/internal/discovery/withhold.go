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

// withholdClustersLocked decides which clusters the first answer leaves out, as
// an injected fault: a few, which follow when their endpoints have been sent,
// or half of them, which follow after a time.
func (c *connection) withholdClustersLocked(s *snapshot.Snapshot) {
	names := s.EDSClusters()
	if c.faults.Disordered(c.node.name) && !c.watches[xds.EDS].open {
		// One at least stays, so that the proxy asks for endpoints.
		c.early = sets.New(names[min(len(names), max(1, len(names)-earlyEndpoints)):]...)
		return
	}
	delay := c.faults.LateClusters()
	if delay == 0 {
		return
	}
	c.late = sets.New(names[(len(names)+1)/2:]...)
	c.faults.RecordLate(c.node.name, len(c.late))
	c.faults.At(time.Now().Add(delay), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closed {
			c.enqueueLocked(c.releaseLocked(&c.late))
		}
	})
}

// withoutWithheldLocked returns clusters without those that are withheld.
func (c *connection) withoutWithheldLocked(clusters *xds.Bundle) *xds.Bundle {
	if len(c.early)+len(c.late) == 0 {
		return clusters
	}
	return clusters.Filter(func(r *discovery.Resource) bool {
		return !c.early.Has(r.GetName()) && !c.late.Has(r.GetName())
	})
}

// withEarlyEndpointsLocked adds the endpoints of clusters that follow them.
func (c *connection) withEarlyEndpointsLocked(s *snapshot.Snapshot, endpoints *xds.Bundle) *xds.Bundle {
	if len(c.early) == 0 {
		return endpoints
	}
	c.faults.RecordEarly(c.node.name, len(c.early))
	return xds.NewBundle(endpoints.Resources, s.EndpointsNamed(sets.List(c.early)).Resources)
}

// clustersAfterEndpointsLocked returns the clusters that follow the answered
// endpoints, if t is their type; nil if there are none.
func (c *connection) clustersAfterEndpointsLocked(t xds.Type) *response {
	if t != xds.EDS || len(c.early) == 0 {
		return nil
	}
	return c.releaseLocked(&c.early)
}

// releaseLocked ends the withholding of clusters, and returns the response that
// brings them.
func (c *connection) releaseLocked(withheld *sets.Set[string]) *response {
	began := time.Now()
	s, released := c.server.snapshot.Load(), *withheld
	*withheld = nil
	content := c.withoutWithheldLocked(c.inboundLocked(s).Clusters)
	if c.delta {
		content = content.Filter(func(r *discovery.Resource) bool { return released.Has(r.GetName()) })
	}
	return &response{kind: xds.CDS, version: s.Version, content: content, buildTime: time.Since(began)}
}
