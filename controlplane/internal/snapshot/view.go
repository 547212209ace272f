package snapshot

import (
	"maps"
	"slices"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/xdsbench/xdsbench/controlplane/internal/generate"
	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// view is what the proxies of one namespace see of a state, or those of all
// namespaces if they see the same. It is immutable, except for memos.
type view struct {
	id        viewID
	clusters  table // without inbound ones
	listeners table // without virtualInbound

	targets      map[string][]generate.RouteTarget // HTTP services by route name
	registryOnly bool                              // unknown hosts are not let through

	routes         memo[routeKey, *discovery.Resource]
	bySubscription memo[routesKey, *xds.Bundle]
	changes        memo[viewChangeKey, *viewChange]
	gone           memo[viewID, []string] // listeners
}

// viewID tells the views of all states apart; the zero value is that of none.
type viewID struct {
	number    uint64
	namespace string // empty if all namespaces share the view
}

type routeKey struct{ name, namespace string }

type routesKey struct {
	subscription *xds.NameSet
	namespace    string
}

// viewChangeKey is a push to the proxies that had the clusters of one view before.
type viewChangeKey struct {
	push   *PushRequest
	before viewID
}

// viewChange is the Delta CDS content of a push, without inbound clusters.
type viewChange struct {
	content *xds.Bundle
	removed []string
}

// table is a list of resources in the order in which they are sent, and by
// name.
type table struct {
	list   []*discovery.Resource
	byName map[string]*discovery.Resource
}

// add appends those resources whose names are not taken.
func (t *table) add(resources ...*discovery.Resource) {
	if t.byName == nil {
		t.byName = make(map[string]*discovery.Resource)
	}
	for _, r := range resources {
		if t.byName[r.GetName()] == nil {
			t.byName[r.GetName()] = r
			t.list = append(t.list, r)
		}
	}
}

// without lists the names of t that other does not have, in order.
func (t *table) without(other *table) []string {
	var out []string
	for name := range t.byName {
		if other.byName[name] == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// newView returns the view of some services, in the order of their names, for
// which sidecar, which may be nil, is in force.
func newView(id viewID, services []*service, sidecar *kube.Sidecar) *view {
	enc := &xds.Encoder{} // no name here can fail: services have been encoded
	v := &view{id: id, targets: make(map[string][]generate.RouteTarget)}
	for _, s := range services {
		v.addService(enc, s)
	}
	for _, s := range services {
		v.listeners.add(s.listeners...)
	}
	if sidecar != nil {
		v.registryOnly = sidecar.RegistryOnly
		for i := range sidecar.Egress {
			v.addEgress(enc, &sidecar.Egress[i], services)
		}
	}
	v.clusters.add(generate.StaticClusters(enc)...)
	v.listeners.add(generate.VirtualOutbound(enc))
	return v
}

func (v *view) addService(enc *xds.Encoder, s *service) {
	v.clusters.add(s.clusters...)
	if s.routed == nil {
		return
	}
	for _, port := range s.routed.Ports {
		if !port.Protocol.IsHTTP() {
			continue
		}
		name := generate.RouteName(port.Number)
		if v.targets[name] == nil {
			v.listeners.add(generate.HTTPListener(enc, port.Number))
		}
		v.targets[name] = append(v.targets[name], generate.RouteTarget{
			Service: s.routed, Port: port.Number, Rules: s.routes,
		})
	}
}

// addEgress adds the listener that an egress entry with a port asks for. A TCP one
// leads to the first of its services that has the port.
func (v *view) addEgress(enc *xds.Encoder, e *kube.Egress, services []*service) {
	if e.Port == 0 {
		return
	}
	var to *kube.Service
	for _, s := range services {
		hasPort := slices.ContainsFunc(s.definition.Ports, func(p kube.Port) bool { return p.Number == e.Port })
		if hasPort && e.Sees(s.definition) {
			to = s.definition
			break
		}
	}
	v.listeners.add(generate.EgressListener(enc, e, to))
}

// change works out what a push changes for proxies that had the clusters of
// before, which may be nil: those of changed services, and those that the scope
// of the proxies' namespace lets in or no longer does.
func (v *view) change(p *PushRequest, before *view) *viewChange {
	if before == v && len(p.Clusters) == 0 {
		return &viewChange{content: &xds.Bundle{}}
	}
	if before == nil {
		before = &view{}
	}
	return v.changes.get(viewChangeKey{push: p, before: before.id}, func() *viewChange {
		c := &viewChange{content: &xds.Bundle{}}
		if v.id.namespace == "" && before.id.namespace == "" {
			for _, name := range slices.Sorted(maps.Keys(p.Clusters)) {
				if r := v.clusters.byName[name]; r != nil {
					c.content.Add(r)
				} else {
					c.removed = append(c.removed, name)
				}
			}
			return c
		}
		for _, r := range v.clusters.list {
			if p.Clusters.Has(r.GetName()) || before.clusters.byName[r.GetName()].GetVersion() != r.GetVersion() {
				c.content.Add(r)
			}
		}
		c.removed = before.clusters.without(&v.clusters)
		return c
	})
}

func (v *view) goneListeners(before *view) []string {
	if before == nil || before == v {
		return nil
	}
	return v.gone.get(before.id, func() []string { return before.listeners.without(&v.listeners) })
}

func (v *view) routesOf(subscription *xds.NameSet, namespace string) *xds.Bundle {
	return v.bySubscription.get(routesKey{subscription, namespace}, func() *xds.Bundle {
		return v.routesNamed(subscription.Names(), namespace)
	})
}

func (v *view) routesNamed(names []string, namespace string) *xds.Bundle {
	list := make([]*discovery.Resource, 0, len(names))
	for _, name := range names {
		list = append(list, v.routes.get(routeKey{name, namespace}, func() *discovery.Resource {
			return generate.Route(&xds.Encoder{}, generate.RouteScope{Name: name, Namespace: namespace, RegistryOnly: v.registryOnly}, v.targets[name])
		}))
	}
	return xds.NewBundle(list)
}
