package controlplane

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// registry is the model: services with their endpoints, pods by address and
// nodes. Informer events go in; out come updates, and snapshots built from it.
type registry struct {
	sendUnhealthy bool
	metrics       *metrics
	emit          func(*update)        // must not call back into the registry
	proxyChanged  func(address string) // the workload behind address is another

	mu      sync.Mutex
	started bool // events before it fill the model only
	entries map[serviceKey]*entry
	nodes   map[string]locality
	pods    map[string]podRef // by address
}

// entry is one service and the slices that name it; either may come first.
type entry struct {
	service      *service
	slices       map[string]*endpointSlice
	hadEndpoints bool // at some time since the service exists
}

type podRef struct {
	owner    serviceKey // namespace and name of the pod
	workload *workload
}

func newRegistry(sendUnhealthy bool, m *metrics) *registry {
	return &registry{
		sendUnhealthy: sendUnhealthy,
		metrics:       m,
		entries:       make(map[serviceKey]*entry),
		nodes:         make(map[string]locality),
		pods:          make(map[string]podRef),
	}
}

func (r *registry) entryLocked(key serviceKey) *entry {
	e := r.entries[key]
	if e == nil {
		e = &entry{slices: make(map[string]*endpointSlice)}
		r.entries[key] = e
	}
	return e
}

func (r *registry) dropIfEmptyLocked(key serviceKey) {
	if e := r.entries[key]; e != nil && e.service == nil && len(e.slices) == 0 {
		delete(r.entries, key)
	}
}

// setService adds or updates a service.
func (r *registry) setService(object *corev1.Service) {
	r.metrics.inboundUpdates.WithLabelValues("svc").Inc()
	key := serviceKey{namespace: object.Namespace, name: object.Name}
	r.changeService(key, newService(object))
}

// deleteService forgets a service; its slices stay until they are deleted.
func (r *registry) deleteService(key serviceKey) {
	r.metrics.inboundUpdates.WithLabelValues("svcdelete").Inc()
	r.changeService(key, nil)
}

func (r *registry) changeService(key serviceKey, s *service) {
	r.send(func() *update {
		e := r.entryLocked(key)
		if e.service.equal(s) {
			r.dropIfEmptyLocked(key)
			return nil
		}
		e.service = s
		e.hadEndpoints = s != nil && e.hasEndpoints()
		r.dropIfEmptyLocked(key)
		return serviceUpdate(reasonService, key)
	})
}

func (e *entry) hasEndpoints() bool {
	for _, s := range e.slices {
		if !s.empty() {
			return true
		}
	}
	return false
}

// setSlice adds or updates a slice. An update that moves the slice to another
// service must delete it from the old one first.
func (r *registry) setSlice(object *discoveryv1.EndpointSlice) {
	r.metrics.inboundUpdates.WithLabelValues("eds").Inc()
	if key, ok := sliceOwner(object); ok {
		r.changeSlice(key, object.Name, newEndpointSlice(object, r.sendUnhealthy))
	}
}

func (r *registry) deleteSlice(object *discoveryv1.EndpointSlice) {
	r.metrics.inboundUpdates.WithLabelValues("eds").Inc()
	if key, ok := sliceOwner(object); ok {
		r.changeSlice(key, object.Name, nil)
	}
}

func sliceOwner(object *discoveryv1.EndpointSlice) (serviceKey, bool) {
	name := object.Labels[discoveryv1.LabelServiceName]
	return serviceKey{namespace: object.Namespace, name: name}, name != ""
}

// changeSlice replaces a slice, or removes it if next is nil. A service's
// first endpoints need a full push, as in istiod; emptying a service and
// filling it again does not.
func (r *registry) changeSlice(key serviceKey, name string, next *endpointSlice) {
	r.send(func() *update {
		e := r.entryLocked(key)
		previous := e.slices[name]
		if next == nil {
			delete(e.slices, name)
		} else {
			e.slices[name] = next
		}
		r.dropIfEmptyLocked(key)
		if e.service == nil || previous.equal(next) {
			return nil
		}
		u := endpointUpdate(reasonEndpoint, key)
		if !e.hadEndpoints && !next.empty() {
			e.hadEndpoints = true
			u = u.merge(&update{full: true, services: setOf(key)})
		}
		return u
	})
}

// setNode records where a node is; the endpoints on it move with it.
func (r *registry) setNode(node *corev1.Node) {
	r.changeNode(node.Name, nodeLocality(node))
}

func (r *registry) deleteNode(name string) {
	r.changeNode(name, locality{})
}

func (r *registry) changeNode(name string, where locality) {
	r.send(func() *update {
		if r.nodes[name] == where {
			return nil
		}
		if where == (locality{}) {
			delete(r.nodes, name)
		} else {
			r.nodes[name] = where
		}
		if !r.started {
			return nil
		}
		return r.endpointsOnLocked(name)
	})
}

func (r *registry) endpointsOnLocked(node string) *update {
	var keys []serviceKey
	for key, e := range r.entries {
		for _, s := range e.slices {
			if s.usesNode(node) {
				keys = append(keys, key)
				break
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return endpointUpdate(reasonEndpoint, keys...)
}

// setPod records the workload behind an address. previous is the pod's last
// version, nil if it is new.
func (r *registry) setPod(previous, pod *corev1.Pod) {
	owner := serviceKey{namespace: pod.Namespace, name: pod.Name}
	next, address := newWorkload(pod)
	if previous != nil && previous.Status.PodIP != address {
		r.deletePod(previous)
	}
	if next == nil {
		return
	}
	r.mu.Lock()
	before := r.pods[address]
	r.pods[address] = podRef{owner: owner, workload: next}
	notify := r.started && (before.workload == nil || before.workload.key != next.key)
	r.mu.Unlock()
	if notify {
		r.proxyChanged(address)
	}
}

// deletePod forgets the workload, unless another pod has its address by now.
func (r *registry) deletePod(pod *corev1.Pod) {
	owner := serviceKey{namespace: pod.Namespace, name: pod.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	if ref, ok := r.pods[pod.Status.PodIP]; ok && ref.owner == owner {
		delete(r.pods, pod.Status.PodIP)
	}
}

// workloadAt returns the workload at a proxy's address, nil if there is none.
func (r *registry) workloadAt(address string) *workload {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[address].workload
}

// start ends the filling of the model: from here on changes are emitted. It
// returns an update that covers everything.
func (r *registry) start() *update {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = true
	u := &update{full: true, services: make(map[serviceKey]struct{}), reasons: map[string]int{reasonGlobal: 1}}
	for key, e := range r.entries {
		e.hadEndpoints = e.service != nil && e.hasEndpoints()
		u.services[key] = struct{}{}
	}
	return u
}

// send applies change under the lock and emits its update, if any, outside.
func (r *registry) send(change func() *update) {
	r.mu.Lock()
	u := change()
	emit := u != nil && r.started
	r.mu.Unlock()
	if emit {
		r.metrics.inboundUpdates.WithLabelValues("config").Inc()
		r.emit(u)
	}
}
