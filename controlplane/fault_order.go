package controlplane

import (
	"maps"
	"slices"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// withheldClusters is how many clusters of a proxy come after their endpoints.
const withheldClusters = 3

// withholdLocked leaves some clusters out of the first answer of a proxy that
// gets types out of order. They follow, by withheldLocked, after a response in
// which hastenLocked has put their endpoints.
func (c *connection) withholdLocked(s *snapshot, content *bundle) *bundle {
	if !c.server.faults.disorders(c.id.name) || c.watches[typeEDS].open {
		return content
	}
	names := slices.Sorted(maps.Keys(s.endpoints))
	// One at least stays, so that the proxy asks for endpoints.
	c.withheld = names[max(1, len(names)-withheldClusters):]
	return content.filter(func(name string) bool { return !slices.Contains(c.withheld, name) })
}

// hastenLocked adds the endpoints of withheld clusters to an answer.
func (c *connection) hastenLocked(s *snapshot, content *bundle) *bundle {
	if len(c.withheld) == 0 {
		return content
	}
	c.server.faults.noteEarly(c.id.name, len(c.withheld))
	out := content.filter(func(string) bool { return true })
	for _, name := range c.withheld {
		out.add(s.endpointsOf(name))
	}
	return out
}

// withheldLocked returns the clusters that were withheld, once the endpoints
// of t have been answered; nil if there are none.
func (c *connection) withheldLocked(t xdsType) *response {
	if t != typeEDS || len(c.withheld) == 0 {
		return nil
	}
	began := time.Now()
	s, withheld := c.server.snapshot.Load(), c.withheld
	c.withheld = nil
	content := s.routing.clusterBundle(c.sentHome)
	if c.delta {
		content = content.filter(func(name string) bool { return slices.Contains(withheld, name) })
	}
	return &response{kind: typeCDS, version: s.version, content: content, took: time.Since(began)}
}

// filter returns a bundle with the resources whose names keep approves.
func (b *bundle) filter(keep func(name string) bool) *bundle {
	out := &bundle{resources: make([]*discovery.Resource, 0, len(b.resources))}
	for _, r := range b.resources {
		if keep(r.GetName()) {
			out.append(r)
		}
	}
	return out
}
