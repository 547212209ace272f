package discovery

import (
	"cmp"
	"slices"

	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// SyncStatus is one proxy in /debug/syncz, in istiod's form: the nonces last
// sent and last acknowledged per type. Empty fields are left out.
type SyncStatus map[string]any

// SyncStatus lists the connected proxies of a namespace by name; an empty
// namespace means all.
func (d *Server) SyncStatus(namespace string) []SyncStatus {
	d.mu.Lock()
	var conns []*connection
	for c := range d.connections {
		if namespace == "" || namespace == c.node.namespace {
			conns = append(conns, c)
		}
	}
	d.mu.Unlock()
	slices.SortFunc(conns, func(a, b *connection) int { return cmp.Compare(a.node.name, b.node.name) })
	list := make([]SyncStatus, 0, len(conns))
	for _, c := range conns {
		list = append(list, c.syncStatus())
	}
	return list
}

func (c *connection) syncStatus() SyncStatus {
	c.mu.Lock()
	watches := c.watches
	c.mu.Unlock()
	resources := make(map[string]any)
	out := SyncStatus{"resources": resources}
	set := func(fields map[string]any, name, value string) {
		if value != "" {
			fields[name] = value
		}
	}
	set(out, "cluster_id", c.node.clusterID)
	set(out, "proxy", c.node.name)
	set(out, "proxy_type", c.node.kind)
	set(out, "istio_version", c.node.version)
	for t, kind := range [xds.TypeCount]string{
		xds.CDS: "cluster", xds.EDS: "endpoint", xds.LDS: "listener", xds.RDS: "route",
	} {
		w := &watches[t]
		set(out, kind+"_sent", w.sent)
		set(out, kind+"_acked", w.acked)
		if w.open {
			status := make(map[string]any)
			set(status, "sent", w.sent)
			set(status, "acked", w.acked)
			set(status, "lastError", w.lastError)
			resources[xds.Type(t).URL()] = status
		}
	}
	return out
}
