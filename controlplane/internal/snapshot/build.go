package snapshot

import (
	"maps"
	"slices"
	"strconv"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/xdsbench/xdsbench/controlplane/internal/generate"
	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
	"github.com/xdsbench/xdsbench/controlplane/internal/registry"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// service is what one service contributes, except for its load assignments: there
// is one per cluster, under the same name, unless the service is headless.
type service struct {
	definition *kube.Service
	rule       *kube.DestinationRule // nil for none
	routes     *kube.VirtualService  // nil for none
	routed     *kube.Service         // of which there are routes; the definition, unless hidden or lost
	clusters   []*discovery.Resource
	listeners  []*discovery.Resource
}

// Next builds the state that follows s after an update, and the request that
// brings proxies from the one to the other. The request is nil if no proxy
// would see a difference. With sendUnhealthy, endpoints that are not ready are
// among those of view.
//
// lose, which may be nil, tells as an injected fault whether the update of some
// resources of a service, all of one type, is lost until the service's next one.
func (s *Snapshot) Next(
	u *registry.Update, view registry.View, sendUnhealthy bool, lose func(xds.Type, ...string) bool,
) (*Snapshot, *PushRequest, error) {
	enc := &xds.Encoder{}
	next := &Snapshot{
		number:      s.number + 1,
		services:    s.services,
		assignments: maps.Clone(s.assignments),
		routing:     s.routing,
	}
	next.Version = time.Now().UTC().Format(time.RFC3339) + "/" + strconv.FormatUint(next.number, 10)
	request := &PushRequest{
		Full:      u.Full,
		Reasons:   u.Reasons,
		Clusters:  sets.New[string](),
		Endpoints: sets.New[string](),
	}
	for name := range u.Endpoints.Difference(u.Services) {
		next.refreshEndpoints(enc, request, view, name)
	}
	if u.Full {
		next.services = maps.Clone(s.services)
		for name := range u.Services {
			next.redefine(enc, request, view, name, sendUnhealthy)
		}
		for name := range u.Routes.Difference(u.Services) {
			next.reroute(view, name)
		}
		if lose != nil {
			for _, name := range slices.SortedFunc(maps.Keys(u.Services.Union(u.Routes)), compareNames) {
				next.lose(request, s.services[name], name, lose)
			}
		}
		next.routing = newRouting(next.number, next.services, view.Sidecars)
	}
	if err := enc.Err(); err != nil {
		return nil, nil, err
	}
	if !u.Full && request.Endpoints.Len() == 0 {
		return s, nil, nil
	}
	return next, request, nil
}

// redefine replaces a service with all its resources. Its endpoints are sent,
// changed or not: Envoy warms an updated cluster until it has seen them.
func (s *Snapshot) redefine(
	enc *xds.Encoder, request *PushRequest, view registry.View, name types.NamespacedName, sendUnhealthy bool,
) {
	if before := s.services[name]; before != nil {
		for _, c := range before.clusters {
			request.Clusters.Insert(c.GetName())
			if s.assignments[c.GetName()] != nil {
				request.Endpoints.Insert(c.GetName())
				delete(s.assignments, c.GetName())
			}
		}
	}
	definition := view.Definitions[name]
	if definition == nil {
		delete(s.services, name)
		return
	}
	after := &service{definition: definition, rule: view.Rules[name], routes: view.Routes[name]}
	s.services[name] = after
	if definition.Hidden {
		return
	}
	after.routed = definition
	after.clusters = generate.Clusters(enc, definition, after.rule, sendUnhealthy)
	after.listeners = generate.TCPListeners(enc, definition, view.Slices[name], view.Nodes)
	for _, c := range after.clusters {
		request.Clusters.Insert(c.GetName())
	}
	for _, a := range after.loadAssignments(enc, view) {
		request.Endpoints.Insert(a.GetName())
		s.assignments[a.GetName()] = a
	}
}

// reroute replaces the routes to a service.
func (s *Snapshot) reroute(view registry.View, name types.NamespacedName) {
	if before := s.services[name]; before != nil {
		after := *before
		after.routes = view.Routes[name]
		s.services[name] = &after
	}
}

func (s *service) loadAssignments(enc *xds.Encoder, view registry.View) []*discovery.Resource {
	name := s.definition.Name
	return generate.LoadAssignments(enc, s.definition, s.rule, generate.Endpoints{
		Slices: view.Slices[name], Nodes: view.Nodes, Pods: view.Pods,
	})
}

// refreshEndpoints replaces the load assignments of a service. It uses the
// definition that proxies have: if the view's is newer, an update is under way
// whose full push will compare the two.
func (s *Snapshot) refreshEndpoints(
	enc *xds.Encoder, request *PushRequest, view registry.View, name types.NamespacedName,
) {
	known := s.services[name]
	if known == nil || known.definition.Hidden || view.Definitions[name] == nil {
		return
	}
	for _, a := range known.loadAssignments(enc, view) {
		if s.assignments[a.GetName()].GetVersion() != a.GetVersion() {
			request.Endpoints.Insert(a.GetName())
			s.assignments[a.GetName()] = a
		}
	}
}
