package snapshot

import (
	"cmp"
	"maps"
	"slices"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"k8s.io/apimachinery/pkg/types"

	"github.com/xdsbench/xdsbench/controlplane/internal/generate"
	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// routing is the part of a state that only full pushes change: clusters,
// listeners and routes. It is immutable, except for memos.
type routing struct {
	number    uint64
	sorted    []*service
	selectors map[string][]*kube.Service // services with a selector, by namespace
	sidecars  map[string]*kube.Sidecar   // by namespace
	scoped    bool                       // what proxies see depends on their namespace

	views   memo[string, *view] // by namespace
	inbound memo[inboundKey, *Inbound]
}

// rootNamespace is where a Sidecar object is for the namespaces without one;
// istiod's default.
const rootNamespace = "istio-system"

type inboundKey struct {
	workload string // its key
	view     *view
}

// newRouting builds the view that all proxies share. If they do not share one,
// the views are built when the first proxy of each namespace needs its own.
func newRouting(number uint64, services map[types.NamespacedName]*service, sidecars map[string]*kube.Sidecar) *routing {
	r := &routing{
		number: number, selectors: make(map[string][]*kube.Service),
		sidecars: sidecars, scoped: len(sidecars) > 0,
	}
	r.sorted = slices.SortedFunc(maps.Values(services), func(a, b *service) int {
		return compareNames(a.definition.Name, b.definition.Name)
	})
	for _, s := range r.sorted {
		if len(s.definition.Selector) > 0 {
			namespace := s.definition.Name.Namespace
			r.selectors[namespace] = append(r.selectors[namespace], s.definition)
		}
		r.scoped = r.scoped || s.definition.ExportTo != nil
	}
	if !r.scoped {
		r.view("")
	}
	return r
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// view returns what the proxies of a namespace see.
func (r *routing) view(namespace string) *view {
	if !r.scoped {
		namespace = ""
	}
	return r.views.get(namespace, func() *view {
		sidecar := cmp.Or(r.sidecars[namespace], r.sidecars[rootNamespace])
		visible := slices.DeleteFunc(slices.Clone(r.sorted), func(s *service) bool {
			return !s.definition.ExportedTo(namespace) || !sidecar.Sees(s.definition)
		})
		return newView(viewID{number: r.number, namespace: namespace}, visible, sidecar)
	})
}

// Inbound is the configuration that depends on the proxy's own workload. Proxies
// of equal workloads share it.
type Inbound struct {
	Clusters  *xds.Bundle // all clusters of the proxy
	Listeners *xds.Bundle // all its listeners

	view *view
	own  []*discovery.Resource // inbound clusters
}

// Inbound returns the configuration of a workload's proxy in a namespace; w is
// nil if the proxy's pod is not known.
func (r *routing) Inbound(w *kube.Workload, namespace string) *Inbound {
	key := inboundKey{view: r.view(namespace)}
	if w != nil {
		key.workload = w.Key
	}
	return r.inbound.get(key, func() *Inbound {
		enc := &xds.Encoder{}
		var ports []generate.InboundPort
		if w != nil {
			ports = generate.InboundPorts(w, r.selectors[w.Namespace()])
		}
		in := &Inbound{view: key.view}
		for _, port := range ports {
			in.own = append(in.own, generate.InboundCluster(enc, port))
		}
		in.Clusters = xds.NewBundle(in.view.clusters.list, in.own)
		in.Listeners = xds.NewBundle(in.view.listeners.list, []*discovery.Resource{generate.VirtualInbound(enc, ports)})
		return in
	})
}

// ChangedClusters returns the Delta CDS content, and the removed names, of a push
// to a proxy that had the clusters of before, which may be nil, and now has those
// of in: the clusters of changed services, those that entered or left the scope,
// and the inbound ones that differ.
func (in *Inbound) ChangedClusters(p *PushRequest, before *Inbound) (*xds.Bundle, []string) {
	if before == in {
		change := in.view.change(p, in.view)
		return change.content, change.removed
	}
	var earlier *view
	known := make(map[string]string)
	if before != nil {
		earlier = before.view
		for _, c := range before.own {
			known[c.GetName()] = c.GetVersion()
		}
	}
	change := in.view.change(p, earlier)
	var own []*discovery.Resource
	for _, c := range in.own {
		if known[c.GetName()] != c.GetVersion() {
			own = append(own, c)
		}
		delete(known, c.GetName())
	}
	if len(own)+len(known) == 0 {
		return change.content, change.removed
	}
	return xds.NewBundle(change.content.Resources, own),
		slices.Concat(change.removed, slices.Sorted(maps.Keys(known)))
}

// GoneListeners lists the listeners of before, which may be nil, that in does not
// have.
func (in *Inbound) GoneListeners(before *Inbound) []string {
	if before == nil {
		return nil
	}
	return in.view.goneListeners(before.view)
}

// Routes returns the route configurations of a subscription, built once for
// the proxies of a namespace that share it.
func (r *routing) Routes(subscription *xds.NameSet, namespace string) *xds.Bundle {
	return r.view(namespace).routesOf(subscription, namespace)
}

// RoutesNamed returns some route configurations as proxies of a namespace see
// them.
func (r *routing) RoutesNamed(names []string, namespace string) *xds.Bundle {
	return r.view(namespace).routesNamed(names, namespace)
}
