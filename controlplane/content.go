package controlplane

import (
	"maps"
	"slices"
	"time"
)

// wholeLocked returns a response with everything that the proxy subscribes to
// of a type. known holds the versions that a Delta client says it has: equal
// ones are left out, and names that are no more are removed. The result is nil
// if there is nothing to say; a first request for all resources is answered in
// any case, so that the client knows that it has them.
func (c *connection) wholeLocked(t xdsType, known map[string]string) *response {
	began := time.Now()
	s := c.server.snapshot.Load()
	r := &response{kind: t, version: s.version}
	switch t {
	case typeCDS:
		c.sentHome = c.homeLocked(s)
		r.content = c.withholdLocked(s, s.routing.clusterBundle(c.sentHome))
	case typeLDS:
		r.content = s.routing.listenerBundle(c.homeLocked(s))
	case typeEDS:
		c.synced = s
		r.content = c.hastenLocked(s, s.endpointsOfSet(c.watches[t].names))
	default:
		r.content = s.routing.routesOfSet(c.watches[t].names, c.id.namespace)
	}
	if len(known) > 0 {
		if t.wildcard() {
			r.removed = absent(known, r.content)
		}
		r.content = r.content.newerThan(known)
		if !t.wildcard() && len(r.content.resources) == 0 {
			return nil
		}
	}
	r.took = time.Since(began)
	return r
}

// absent lists the known names that b does not hold.
func absent(known map[string]string, b *bundle) []string {
	have := make(map[string]struct{}, len(b.resources))
	for _, r := range b.resources {
		have[r.GetName()] = struct{}{}
	}
	var out []string
	for name := range known {
		if _, ok := have[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// namedLocked returns a response with the named endpoints or routes.
func (c *connection) namedLocked(t xdsType, names []string, known map[string]string) *response {
	began := time.Now()
	s := c.server.snapshot.Load()
	r := &response{kind: t, version: s.version}
	if t == typeEDS {
		c.synced = s
		r.content = s.endpointsOfNames(names)
	} else {
		r.content = s.routing.routes(names, c.id.namespace)
	}
	r.content = r.content.newerThan(known)
	if len(r.content.resources) == 0 {
		return nil
	}
	r.took = time.Since(began)
	return r
}

// dependentsLocked returns the endpoints that must follow an answered request
// for clusters. A reconnecting Envoy may have asked for them first; it then
// warms the clusters that it is sent now until their endpoints come, and does
// not ask again in Delta (https://github.com/envoyproxy/envoy/issues/33607).
func (c *connection) dependentsLocked(t xdsType) *response {
	if w := &c.watches[typeEDS]; t != typeCDS || !w.open || w.names.len() == 0 {
		return nil
	}
	return c.wholeLocked(typeEDS, nil)
}

func (c *connection) homeLocked(s *snapshot) *inbound {
	return s.routing.inboundOf(c.server.registry.workloadAt(c.id.address))
}

// pushResponsesLocked returns what a push owes to the proxy, in the order in
// which it must be sent.
func (c *connection) pushResponsesLocked(p *pushRequest) []*response {
	s := c.server.snapshot.Load()
	if c.server.faults.denies(c.id.name, true) {
		return nil
	}
	var out []*response
	for t := range typeCount {
		if !c.watches[t].open || (!p.full && t != typeEDS) {
			continue
		}
		began := time.Now()
		if r := c.pushResponseLocked(t, s, p); r != nil {
			r.kind, r.version, r.took = t, s.version, time.Since(began)
			out = append(out, r)
		}
	}
	return c.server.faults.repeat(out)
}

func (c *connection) pushResponseLocked(t xdsType, s *snapshot, p *pushRequest) *response {
	switch t {
	case typeCDS:
		if c.delta {
			return c.changedClustersLocked(s, p)
		}
		c.sentHome = c.homeLocked(s)
		return &response{content: s.routing.clusterBundle(c.sentHome)}
	case typeEDS:
		return c.changedEndpointsLocked(s, p)
	case typeLDS:
		r := &response{content: s.routing.listenerBundle(c.homeLocked(s))}
		if c.delta {
			r.removed = goneNames(p.listeners, s.routing.listeners)
		}
		return r
	default:
		names := c.watches[typeRDS].names
		if names.len() == 0 {
			return nil
		}
		return &response{content: s.routing.routesOfSet(names, c.id.namespace)}
	}
}

// goneNames lists what of candidates does not exist.
func goneNames(candidates map[string]struct{}, exist map[string]*encoded) []string {
	var out []string
	for name := range candidates {
		if _, ok := exist[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// changedClustersLocked is the Delta CDS of a push: the clusters of changed
// services and what differs in the proxy's inbound ones.
func (c *connection) changedClustersLocked(s *snapshot, p *pushRequest) *response {
	r := &response{content: &bundle{}, removed: goneNames(p.clusters, s.routing.clusters)}
	for _, name := range slices.Sorted(maps.Keys(p.clusters)) {
		if e, ok := s.routing.clusters[name]; ok {
			r.content.add(e)
		}
	}
	before, after := c.sentHome, c.homeLocked(s)
	c.sentHome = after
	added, removed := before.difference(after)
	for _, e := range added {
		r.content.add(e)
	}
	r.removed = append(r.removed, removed...)
	if len(r.content.resources) == 0 && len(r.removed) == 0 {
		return nil
	}
	return r
}

// difference compares the clusters of two inbound configurations; in may be
// nil.
func (in *inbound) difference(next *inbound) (added []*encoded, removed []string) {
	if in == next {
		return nil, nil
	}
	known := make(map[string]string)
	if in != nil {
		for _, e := range in.clusters {
			known[e.name] = e.version
		}
	}
	for _, e := range next.clusters {
		if known[e.name] != e.version {
			added = append(added, e)
		}
		delete(known, e.name)
	}
	return added, slices.Sorted(maps.Keys(known))
}

// changedEndpointsLocked is the EDS of a push: the changed clusters that the
// proxy subscribes to, and no others. In SotW too: only for LDS and CDS must a
// response hold all resources (xDS protocol, "Grouping Resources into
// Responses").
func (c *connection) changedEndpointsLocked(s *snapshot, p *pushRequest) *response {
	names := c.watches[typeEDS].names
	if names.len() == 0 || len(p.endpoints) == 0 {
		return nil
	}
	changed := s.changedEndpoints(p, names)
	r := &response{content: c.server.faults.outdate(c.id.name, changed.content, c.synced)}
	if c.delta {
		r.removed = changed.removed
	}
	if len(r.content.resources) == 0 && len(r.removed) == 0 {
		return nil
	}
	return r
}
