// Package registry keeps track of the services, endpoints, pods and nodes of an
// API server. Informer events go in; updates of what proxies can see, and views
// of it, come out.
package registry

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
	"github.com/xdsbench/xdsbench/controlplane/internal/metrics"
)

// Listener learns of changes. Its methods must not call back into the registry.
type Listener interface {
	// Updated is called for every change that proxies can see.
	Updated(u *Update)
	// WorkloadChanged is called when there is another workload at an address.
	WorkloadChanged(address string)
}

// Registry is the state of all objects.
type Registry struct {
	sendUnhealthy bool
	metrics       *metrics.Metrics

	mu       sync.Mutex
	listener Listener // nil while the registry is being filled
	services map[types.NamespacedName]*service
	nodes    map[string]kube.Locality // replaced, not altered, once there is a listener
	pods     map[string]pod           // by address
	config   config
}

// service is a service and the slices that belong to it; either may come first.
type service struct {
	definition   *kube.Service
	slices       map[string]*kube.EndpointSlice
	hadEndpoints bool // at any time since the service was created
}

type pod struct {
	name     types.NamespacedName
	workload *kube.Workload
}

// New returns an empty registry. With sendUnhealthy, proxies can see endpoints
// that are not ready.
func New(sendUnhealthy bool, m *metrics.Metrics) *Registry {
	return &Registry{
		sendUnhealthy: sendUnhealthy,
		metrics:       m,
		services:      make(map[types.NamespacedName]*service),
		nodes:         make(map[string]kube.Locality),
		pods:          make(map[string]pod),
		config:        newConfig(),
	}
}

// Listen ends the filling of the registry: from now on l learns of changes. It
// returns an update that covers everything so far.
func (r *Registry) Listen(l Listener) *Update {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener = l
	u := &Update{Full: true, Services: make(Names), Reasons: map[string]int{ReasonGlobal: 1}}
	for name, s := range r.services {
		s.hadEndpoints = s.definition != nil && s.hasEndpoints()
		u.Services.Insert(name)
	}
	return u
}

// apply makes a change under the lock, and then reports its update, if any.
func (r *Registry) apply(change func() *Update) {
	r.mu.Lock()
	u, listener := change(), r.listener
	r.mu.Unlock()
	if u != nil && listener != nil {
		r.metrics.InboundUpdates.WithLabelValues("config").Inc()
		listener.Updated(u)
	}
}

// serviceLocked returns the entry of a service, and makes it if there is none.
func (r *Registry) serviceLocked(name types.NamespacedName) *service {
	s := r.services[name]
	if s == nil {
		s = &service{slices: make(map[string]*kube.EndpointSlice)}
		r.services[name] = s
	}
	return s
}

func (r *Registry) dropIfEmptyLocked(name types.NamespacedName) {
	if s := r.services[name]; s.definition == nil && len(s.slices) == 0 {
		delete(r.services, name)
	}
}

func (s *service) hasEndpoints() bool {
	return s.hasSlice(func(slice *kube.EndpointSlice) bool { return !slice.Empty() })
}

func (s *service) hasSlice(match func(*kube.EndpointSlice) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(s.slices)), match)
}

// setService adds, changes or, if definition is nil, removes a service. Its
// slices stay until they are removed.
func (r *Registry) setService(name types.NamespacedName, definition *kube.Service) {
	r.apply(func() *Update {
		s := r.serviceLocked(name)
		defer r.dropIfEmptyLocked(name)
		if s.definition.Equal(definition) {
			return nil
		}
		s.definition = definition
		s.hadEndpoints = definition != nil && s.hasEndpoints()
		return &Update{Full: true, Services: sets.New(name), Reasons: map[string]int{ReasonService: 1}}
	})
}

// setSlice adds, changes or, if next is nil, removes a slice of a service. A
// service's first endpoints need a full push, as in istiod, and so does every
// change of endpoints that have listeners; emptying another service and filling
// it again does not.
func (r *Registry) setSlice(owner types.NamespacedName, slice string, next *kube.EndpointSlice) {
	r.apply(func() *Update {
		s := r.serviceLocked(owner)
		defer r.dropIfEmptyLocked(owner)
		previous := s.slices[slice]
		if next == nil {
			delete(s.slices, slice)
		} else {
			s.slices[slice] = next
		}
		if s.definition == nil || previous.Equal(next) {
			return nil
		}
		u := &Update{Endpoints: sets.New(owner), Reasons: map[string]int{ReasonEndpoint: 1}}
		if s.definition.ListenerPerEndpoint() {
			u.Reasons = map[string]int{ReasonHeadless: 1}
			u.Full, u.Services = true, sets.New(owner)
		}
		if !s.hadEndpoints && !next.Empty() {
			s.hadEndpoints = true
			u.Full, u.Services = true, sets.New(owner)
		}
		return u
	})
}

// setNode records the locality of a node and so of the endpoints on it.
func (r *Registry) setNode(node string, where kube.Locality) {
	r.apply(func() *Update {
		if r.nodes[node] == where {
			return nil
		}
		if r.listener == nil {
			r.nodes[node] = where
			return nil
		}
		r.nodes = maps.Clone(r.nodes) // views hold the old map
		r.nodes[node] = where
		u := &Update{Endpoints: make(Names), Reasons: map[string]int{ReasonEndpoint: 1}}
		for name, s := range r.services {
			if s.hasSlice(func(slice *kube.EndpointSlice) bool { return slice.UsesNode(node) }) {
				u.Endpoints.Insert(name)
			}
		}
		if u.Endpoints.Len() == 0 {
			return nil
		}
		return u
	})
}

// setPod records the workload behind an address. previous is the pod's last
// version, nil if it is new.
func (r *Registry) setPod(previous, object *corev1.Pod) {
	next, address := kube.NewWorkload(object)
	if previous != nil && previous.Status.PodIP != address {
		r.deletePod(previous)
	}
	if next == nil {
		return
	}
	r.mu.Lock()
	before, listener := r.pods[address].workload, r.listener
	r.pods[address] = pod{name: nameOf(object), workload: next}
	r.mu.Unlock()
	if listener != nil && (before == nil || before.Key != next.Key) {
		listener.WorkloadChanged(address)
		r.relabel(address)
	}
}

// deletePod removes the workload, unless another pod has its address by now.
func (r *Registry) deletePod(object *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pods[object.Status.PodIP].name == nameOf(object) {
		delete(r.pods, object.Status.PodIP)
	}
}

// WorkloadAt returns the workload at a proxy's address, nil if there is none.
func (r *Registry) WorkloadAt(address string) *kube.Workload {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[address].workload
}

// View is the state of some services at one moment. Services that do not exist
// have no definition.
type View struct {
	Definitions map[types.NamespacedName]*kube.Service
	Slices      map[types.NamespacedName][]*kube.EndpointSlice
	Nodes       map[string]kube.Locality
	Rules       map[types.NamespacedName]*kube.DestinationRule
	Routes      map[types.NamespacedName]*kube.VirtualService
	Pods        map[string]*kube.Workload // by address, of services with subsets
	Sidecars    map[string]*kube.Sidecar  // by namespace; it must not be altered
}

// View returns the state of the services that an update names.
func (r *Registry) View(u *Update) View {
	v := View{
		Definitions: make(map[types.NamespacedName]*kube.Service, len(u.Services)),
		Slices:      make(map[types.NamespacedName][]*kube.EndpointSlice, len(u.Services)),
		Rules:       make(map[types.NamespacedName]*kube.DestinationRule),
		Routes:      make(map[types.NamespacedName]*kube.VirtualService),
		Pods:        make(map[string]*kube.Workload),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v.Nodes = r.nodes
	v.Sidecars = r.config.sidecars
	for _, names := range []Names{u.Services, u.Endpoints, u.Routes} {
		for name := range names {
			r.addConfigLocked(&v, name)
			if s := r.services[name]; s != nil {
				v.Definitions[name] = s.definition
				v.Slices[name] = slices.Collect(maps.Values(s.slices))
			}
		}
	}
	return v
}
