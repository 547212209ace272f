package snapshot

import (
	"cmp"
	"maps"
	"slices"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/xdsbench/xdsbench/controlplane/internal/generate"
	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// routing is the part of a state that only full pushes change: clusters,
// listeners and routes. It is immutable, except for memos.
type routing struct {
	clusters  table // without inbound ones
	listeners table // without virtualInbound

	targets   map[string][]generate.RouteTarget // HTTP services by route name
	selectors map[string][]*kube.Service        // services with a selector, by namespace

	inbound        memo[string, *Inbound] // by key of the workload
	routes         memo[routeKey, *discovery.Resource]
	bySubscription memo[routesKey, *xds.Bundle]
}

type routeKey struct{ name, namespace string }

type routesKey struct {
	subscription *xds.NameSet
	namespace    string
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

func (t *table) names() sets.Set[string] { return sets.KeySet(t.byName) }

// find returns the resources with some names, and the names that have none.
func (t *table) find(names sets.Set[string]) (found []*discovery.Resource, gone []string) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if r := t.byName[name]; r != nil {
			found = append(found, r)
		} else {
			gone = append(gone, name)
		}
	}
	return found, gone
}

func newRouting(enc *xds.Encoder, services map[types.NamespacedName]*service) *routing {
	r := &routing{
		targets:   make(map[string][]generate.RouteTarget),
		selectors: make(map[string][]*kube.Service),
	}
	names := slices.SortedFunc(maps.Keys(services), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, name := range names {
		r.addService(enc, services[name])
	}
	for _, name := range names {
		r.listeners.add(services[name].listeners...)
	}
	r.clusters.add(generate.StaticClusters(enc)...)
	r.listeners.add(generate.VirtualOutbound(enc))
	return r
}

func (r *routing) addService(enc *xds.Encoder, s *service) {
	r.clusters.add(s.clusters...)
	if len(s.definition.Selector) > 0 {
		namespace := s.definition.Name.Namespace
		r.selectors[namespace] = append(r.selectors[namespace], s.definition)
	}
	for _, port := range s.definition.Ports {
		if s.definition.Hidden || !port.Protocol.IsHTTP() {
			continue
		}
		name := generate.RouteName(port.Number)
		if r.targets[name] == nil {
			r.listeners.add(generate.HTTPListener(enc, port.Number))
		}
		r.targets[name] = append(r.targets[name], generate.RouteTarget{Service: s.definition, Port: port.Number})
	}
}

// Inbound is the configuration that depends on the proxy's own workload. Proxies
// of equal workloads share it.
type Inbound struct {
	Clusters  *xds.Bundle // all clusters of the proxy
	Listeners *xds.Bundle // all its listeners

	own []*discovery.Resource // inbound clusters
}

// Inbound returns the configuration of a workload's proxy; w is nil if the
// proxy's pod is not known.
func (r *routing) Inbound(w *kube.Workload) *Inbound {
	var key string
	if w != nil {
		key = w.Key
	}
	return r.inbound.get(key, func() *Inbound {
		enc := &xds.Encoder{}
		var ports []generate.InboundPort
		if w != nil {
			ports = generate.InboundPorts(w, r.selectors[w.Namespace()])
		}
		in := &Inbound{}
		for _, port := range ports {
			in.own = append(in.own, generate.InboundCluster(enc, port))
		}
		in.Clusters = xds.NewBundle(r.clusters.list, in.own)
		in.Listeners = xds.NewBundle(r.listeners.list, []*discovery.Resource{generate.VirtualInbound(enc, ports)})
		return in
	})
}

// ChangedClusters returns the Delta CDS content, and the removed names, of a push
// to a proxy that had the clusters of before, which may be nil, and now has those
// of after: the clusters of changed services, and the inbound ones that differ.
func (r *routing) ChangedClusters(p *PushRequest, before, after *Inbound) (*xds.Bundle, []string) {
	content := &xds.Bundle{}
	changed, removed := r.clusters.find(p.Clusters)
	content.Add(changed...)
	if before == after {
		return content, removed
	}
	known := make(map[string]string)
	if before != nil {
		for _, c := range before.own {
			known[c.GetName()] = c.GetVersion()
		}
	}
	for _, c := range after.own {
		if known[c.GetName()] != c.GetVersion() {
			content.Add(c)
		}
		delete(known, c.GetName())
	}
	return content, append(removed, slices.Sorted(maps.Keys(known))...)
}

// GoneListeners lists the listeners that a push removes.
func (r *routing) GoneListeners(p *PushRequest) []string {
	_, gone := r.listeners.find(p.Listeners)
	return gone
}

// Routes returns the route configurations of a subscription, built once for
// the proxies of a namespace that share it.
func (r *routing) Routes(subscription *xds.NameSet, namespace string) *xds.Bundle {
	return r.bySubscription.get(routesKey{subscription, namespace}, func() *xds.Bundle {
		return r.RoutesNamed(subscription.Names(), namespace)
	})
}

// RoutesNamed returns some route configurations as proxies of a namespace see
// them.
func (r *routing) RoutesNamed(names []string, namespace string) *xds.Bundle {
	list := make([]*discovery.Resource, 0, len(names))
	for _, name := range names {
		list = append(list, r.routes.get(routeKey{name, namespace}, func() *discovery.Resource {
			return generate.Route(&xds.Encoder{}, name, namespace, r.targets[name])
		}))
	}
	return xds.NewBundle(list)
}
