package discovery

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/xdsbench/xdsbench/controlplane/faults"
	"github.com/xdsbench/xdsbench/controlplane/internal/snapshot"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// completeResponseLocked returns a response with all resources of a type that the
// proxy subscribes to. known holds the versions that a Delta client says it has:
// equal ones are left out, and names that no longer exist are removed. The result
// is nil if nothing is left; but a first request for all resources is always
// answered, so that the client knows that it has them.
func (c *connection) completeResponseLocked(t xds.Type, known map[string]string) *response {
	began := time.Now()
	s := c.server.snapshot.Load()
	r := &response{kind: t, version: s.Version}
	switch t {
	case xds.CDS:
		c.inbound = c.inboundLocked(s)
		c.withholdClustersLocked(s)
		r.content = c.withoutWithheldLocked(c.inbound.Clusters)
	case xds.LDS:
		c.listening = c.inboundLocked(s)
		r.content = c.listening.Listeners
	case xds.EDS:
		c.rememberLocked(s)
		r.content = c.withEarlyEndpointsLocked(s, s.Endpoints(c.watches[t].names))
	default:
		r.content = s.Routes(c.watches[t].names, c.node.namespace)
	}
	if c.faults.CanBeStale(t) {
		c.complete[t] = r.content
	}
	if len(known) > 0 {
		if t.Wildcard() {
			have := sets.New[string]()
			for _, resource := range r.content.Resources {
				have.Insert(resource.GetName())
			}
			r.removed = sets.List(sets.KeySet(known).Difference(have))
		}
		r.content = r.content.NewerThan(known)
		if !t.Wildcard() && len(r.content.Resources) == 0 {
			return nil
		}
	}
	r.buildTime = time.Since(began)
	return r
}

// namedResponseLocked returns a response with the named endpoints or routes,
// nil if the client knows them all.
func (c *connection) namedResponseLocked(t xds.Type, names []string, known map[string]string) *response {
	began := time.Now()
	s := c.server.snapshot.Load()
	r := &response{kind: t, version: s.Version}
	if t == xds.EDS {
		c.rememberLocked(s)
		r.content = s.EndpointsNamed(names)
	} else {
		r.content = s.RoutesNamed(names, c.node.namespace)
	}
	r.content = r.content.NewerThan(known)
	if len(r.content.Resources) == 0 {
		return nil
	}
	r.buildTime = time.Since(began)
	return r
}

// dependentsLocked returns the endpoints that must follow an answered request
// for clusters. A reconnecting Envoy may have asked for them first; it then
// warms the clusters that it is sent now until their endpoints come, and does
// not ask again in Delta (https://github.com/envoyproxy/envoy/issues/33607).
func (c *connection) dependentsLocked(t xds.Type) *response {
	if t != xds.CDS || c.watches[xds.EDS].names == nil {
		return nil
	}
	return c.completeResponseLocked(xds.EDS, nil)
}

func (c *connection) inboundLocked(s *snapshot.Snapshot) *snapshot.Inbound {
	return s.Inbound(c.server.cfg.Registry.WorkloadAt(c.node.address), c.node.namespace)
}

// pushResponsesLocked returns what a push has to bring to the proxy, in the order
// in which it must be sent.
func (c *connection) pushResponsesLocked(p *snapshot.PushRequest) []*response {
	s := c.server.snapshot.Load()
	var out []*response
	unserved := false
	for t := range xds.TypeCount {
		if !c.watches[t].open || !p.Full && t != xds.EDS {
			continue
		}
		if c.faults.Unserved(c.node.name, t) {
			unserved = true
			continue
		}
		began := time.Now()
		if r := c.staleResponseLocked(t, c.pushResponseLocked(t, s, p)); r != nil {
			r.kind, r.version, r.buildTime = t, s.Version, time.Since(began)
			out = append(out, r)
		}
	}
	if unserved {
		c.faults.RecordUnserved(c.node.name, 1)
	}
	return faults.Duplicate(c.faults, out, func(r *response) (xds.Type, int) { return r.kind, len(r.content.Resources) })
}

// pushResponseLocked returns the response of one type, nil if none is needed.
func (c *connection) pushResponseLocked(t xds.Type, s *snapshot.Snapshot, p *snapshot.PushRequest) *response {
	switch t {
	case xds.CDS:
		before := c.inbound
		c.inbound = c.inboundLocked(s)
		if !c.delta {
			return &response{content: c.withoutWithheldLocked(c.inbound.Clusters)}
		}
		content, removed := c.inbound.ChangedClusters(p, before)
		return unlessEmpty(c.withoutWithheldLocked(content), removed)
	case xds.EDS:
		return c.changedEndpointsLocked(s, p)
	case xds.LDS:
		before := c.listening
		c.listening = c.inboundLocked(s)
		r := &response{content: c.listening.Listeners}
		if c.delta {
			r.removed = c.listening.GoneListeners(before)
		}
		return r
	default:
		if c.watches[xds.RDS].names == nil {
			return nil
		}
		return &response{content: s.Routes(c.watches[xds.RDS].names, c.node.namespace)}
	}
}

// changedEndpointsLocked is the EDS of a push: the changed clusters that the proxy
// subscribes to, and no others. That holds for SotW too, where only LDS and CDS
// responses must have all resources (xDS protocol, "Grouping Resources into
// Responses").
func (c *connection) changedEndpointsLocked(s *snapshot.Snapshot, p *snapshot.PushRequest) *response {
	if c.watches[xds.EDS].names == nil || len(p.Endpoints) == 0 {
		return nil
	}
	changed := s.ChangedEndpoints(p, c.watches[xds.EDS].names)
	var removed []string
	if c.delta {
		removed = changed.Removed
	}
	return unlessEmpty(changed.Content, removed)
}

func unlessEmpty(content *xds.Bundle, removed []string) *response {
	if len(content.Resources) == 0 && len(removed) == 0 {
		return nil
	}
	return &response{content: content, removed: removed}
}
