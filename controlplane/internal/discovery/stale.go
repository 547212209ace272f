package discovery

import (
	"slices"
	"strings"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/xdsbench/xdsbench/controlplane/internal/snapshot"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// rememberLocked keeps the state from which endpoints are answered, for
// staleResponseLocked.
func (c *connection) rememberLocked(s *snapshot.Snapshot) {
	if c.faults != nil {
		c.answered = s
	}
}

// answeredLocked returns what the proxy was first answered with, nil if it was
// answered without the resource.
func (c *connection) answeredLocked(t xds.Type, name string) *discovery.Resource {
	if t == xds.EDS {
		if c.answered == nil {
			return nil
		}
		return c.answered.Assignment(name)
	}
	if c.complete[t] == nil {
		return nil
	}
	i := slices.IndexFunc(c.complete[t].Resources, func(r *discovery.Resource) bool { return r.GetName() == name })
	if i < 0 {
		return nil
	}
	return c.complete[t].Resources[i]
}

// staleLocked tells whether the proxy never gets an update of a resource. Inbound
// ones are its own, and not stale.
func (c *connection) staleLocked(t xds.Type, name string) bool {
	inbound := strings.HasPrefix(name, "inbound|") || name == "virtualInbound"
	return !inbound && c.faults.Stale(c.node.name, t, name)
}

// staleResponseLocked puts, as an injected fault, what the proxy was answered with in
// place of the updates that it never gets: it keeps old resources, those that are
// gone too, and does not learn of new ones. Endpoints that it was not answered with
// are sent, and those that are gone removed.
func (c *connection) staleResponseLocked(t xds.Type, r *response) *response {
	if r == nil || !c.faults.CanBeStale(t) {
		return r
	}
	var list []*discovery.Resource
	sent := make(map[string]bool)
	for _, resource := range r.content.Resources {
		name := resource.GetName()
		sent[name] = true
		old := resource
		if c.staleLocked(t, name) && (t != xds.EDS || c.answeredLocked(t, name) != nil) {
			old = c.answeredLocked(t, name)
			c.recordStaleLocked(t, name, old, resource)
		}
		if old != nil {
			list = append(list, old)
		}
	}
	removed := r.removed
	if t != xds.EDS {
		removed = slices.DeleteFunc(slices.Clone(removed), func(name string) bool {
			old := c.answeredLocked(t, name)
			if old == nil || !c.staleLocked(t, name) {
				return false
			}
			c.recordStaleLocked(t, name, old, nil)
			return true
		})
		if !c.delta && t.Wildcard() {
			list = append(list, c.keptLocked(t, sent)...)
		}
	}
	return unlessEmpty(xds.NewBundle(list), removed)
}

// keptLocked returns the stale resources that a SotW response would remove.
func (c *connection) keptLocked(t xds.Type, sent map[string]bool) []*discovery.Resource {
	var out []*discovery.Resource
	if c.complete[t] == nil {
		return nil
	}
	for _, old := range c.complete[t].Resources {
		if !sent[old.GetName()] && c.staleLocked(t, old.GetName()) {
			c.recordStaleLocked(t, old.GetName(), old, nil)
			out = append(out, old)
		}
	}
	return out
}

// recordStaleLocked records that old was sent and not current; either may be nil.
// Endpoints are recorded though they be the same.
func (c *connection) recordStaleLocked(t xds.Type, name string, old, current *discovery.Resource) {
	if t == xds.EDS || old.GetVersion() != current.GetVersion() {
		c.faults.RecordStale(c.node.name, t, name, old.GetVersion())
	}
}
