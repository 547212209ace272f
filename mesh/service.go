package mesh

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// maxPorts is the largest number of ports of a service.
const maxPorts = 32

// shared is what all services of a mesh have in common. It never changes.
type shared struct {
	labels map[string]string
	nodes  []node
	spec   Spec
	// audience are the proxies that know the whole mesh; byNamespace are those of them in
	// one namespace, sidecars the sidecars in one.
	audience              *event.Audience
	byNamespace, sidecars map[string]*event.Audience
	allSidecars, routers  *event.Audience
	scope                 string
}

// newShared returns what the services of a mesh have in common.
func newShared(cfg Config) *shared {
	sh := &shared{
		labels:      map[string]string{ManagedByLabel: ManagedByValue, RunLabel: cfg.RunID},
		nodes:       cfg.nodes(),
		spec:        cfg.Spec,
		audience:    &event.Audience{},
		byNamespace: make(map[string]*event.Audience),
		sidecars:    make(map[string]*event.Audience),
		allSidecars: &event.Audience{Kinds: []string{kindSidecar}},
		routers:     &event.Audience{Kinds: []string{kindRouter}},
		scope:       cfg.Scope,
	}
	for i := range cfg.Namespaces {
		name := cfg.namespace(i)
		sh.byNamespace[name] = &event.Audience{Namespaces: []string{name}}
		sh.sidecars[name] = &event.Audience{Namespaces: []string{name}, Kinds: []string{kindSidecar}}
	}
	return sh
}

// audienceOf returns the proxies that have to know the services of a namespace.
func (sh *shared) audienceOf(namespace string) *event.Audience {
	if sh.scope == ScopeNamespace || sh.scope == ScopeExportTo {
		return sh.byNamespace[namespace]
	}
	return sh.audience
}

// port is one port of every service.
type port struct {
	name           string
	number, target int32
}

// ports returns the n ports of a service: those that proxies have clusters for, and those
// of UDP. Their names select the protocol.
func (s Spec) ports(n int) (visible, datagram []port) {
	for i := range n {
		protocol := s.protocol(i)
		p := port{number: int32(9000 + i), target: int32(9000 + i)}
		if i == 0 {
			p = port{number: 80, target: 8080}
		}
		p.name = protocol + "-" + strconv.Itoa(int(p.number))
		if protocol == protocolUDP {
			datagram = append(datagram, p)
		} else {
			visible = append(visible, p)
		}
	}
	return visible, datagram
}

// protocol returns the protocol of the port with this index.
func (s Spec) protocol(i int) string {
	switch {
	case len(s.PortProtocols) > 0:
		return s.PortProtocols[i%len(s.PortProtocols)]
	case i == 0:
		return protocolHTTP
	default:
		return protocolTCP
	}
}

// http reports whether proxies have a route for the port.
func (p port) http() bool {
	return strings.HasPrefix(p.name, protocolHTTP) || strings.HasPrefix(p.name, protocolGRPC)
}

// Service is the model of one service and its endpoints. It is not safe for
// concurrent use; different services of one mesh are independent.
type Service struct {
	// Fixed at creation.
	shared          *shared
	name, namespace string
	number          int // of the mesh's services, or of the fleet's
	audience        *event.Audience
	headless        bool
	hidden          bool
	selector        map[string]string
	podLabels       []map[string]string
	sliceLabels     map[string]string
	clusterName     string // a template
	datagram        []port // of UDP
	class           int
	configured      bool // it has a config object from the start
	ruled           bool // that is a DestinationRule
	subsets         bool // with subsets
	odd             *oddities

	// What operations change. The elements of ports are never changed.
	absent bool
	lone   bool // the only one of its namespace
	ports  []port
	slices []sliceModel
	pods   map[string]*member
	states []event.Expected

	// next is the mesh's next free pod number; the only thing that services share
	// and change.
	next *atomic.Int64
}

// sliceModel is one EndpointSlice. An element of endpoints is replaced, never
// changed through its pointers: the objects handed out share them.
type sliceModel struct {
	name, key string
	endpoints []discoveryv1.Endpoint
	// ports are its own; nil if they are the Service's. The elements are never changed.
	ports []port
	// note is what its annotation says; 0 if it has none.
	note int
}

// member is one pod of the service.
type member struct {
	pod       Pod
	slice     int
	condition Condition
}

// newService returns a service without endpoints, with one empty slice.
func newService(sh *shared, next *atomic.Int64, namespace, name, clusterName string, numPorts int) *Service {
	s := &Service{
		shared:    sh,
		name:      name,
		namespace: namespace,
		audience:  sh.audienceOf(namespace),
		pods:      map[string]*member{},
		next:      next,

		clusterName: clusterName,
	}
	s.ports, s.datagram = sh.spec.ports(numPorts)
	for _, version := range versions() {
		labels := maps.Clone(sh.labels)
		labels["app"], labels["version"] = name, version
		s.podLabels = append(s.podLabels, labels)
	}
	s.sliceLabels = maps.Clone(sh.labels)
	s.sliceLabels[discoveryv1.LabelServiceName] = name
	s.sliceLabels[discoveryv1.LabelManagedBy] = "xdsbench.io"
	for _, p := range s.ports {
		s.states = append(s.states, s.stateOf(p))
	}
	s.grow(0)
	return s
}

// stateOf returns the EDS resource of a port without endpoints.
func (s *Service) stateOf(p port) event.Expected {
	cluster := strings.NewReplacer(
		"{port}", strconv.Itoa(int(p.number)),
		"{portName}", p.name,
		"{service}", s.name,
		"{namespace}", s.namespace,
	).Replace(s.clusterName)
	return event.Expected{ResourceState: event.ResourceState{Type: xds.EDS, Name: cluster}, Audience: s.audience}
}

// grow makes sure that the slice with this index exists.
func (s *Service) grow(slice int) {
	for len(s.slices) <= slice {
		name := s.name + "-" + strconv.Itoa(len(s.slices))
		s.slices = append(s.slices, sliceModel{name: name, key: s.namespace + "/" + name})
	}
}

// Clone returns an independent copy of the model, for working out in advance
// what a sequence of operations does.
func (s *Service) Clone() *Service {
	c := *s
	c.next = &atomic.Int64{}
	c.next.Store(s.next.Load())
	c.states = slices.Clone(s.states)
	c.slices = slices.Clone(s.slices)
	for i := range c.slices {
		c.slices[i].endpoints = slices.Clone(c.slices[i].endpoints)
	}
	c.pods = make(map[string]*member, len(s.pods))
	for name, m := range s.pods {
		copied := *m
		c.pods[name] = &copied
	}
	return &c
}

// exportTo is Istio's annotation that says to which namespaces a service is shown: "." its
// own, "~" none.
const exportTo = "networking.istio.io/exportTo"

// sidecars are the sidecars among the proxies that have to know the service.
func (s *Service) sidecars() *event.Audience {
	if s.audience == s.shared.audience {
		return s.shared.allSidecars
	}
	return s.shared.sidecars[s.namespace]
}

// host is the service's name in the cluster's DNS.
func (s *Service) host() string { return s.name + "." + s.namespace + ".svc.cluster.local" }

// Key returns "namespace/name".
func (s *Service) Key() string { return s.namespace + "/" + s.name }

// Namespace returns the service's namespace.
func (s *Service) Namespace() string { return s.namespace }

// Headless reports whether the service has no cluster address. Control planes
// serve no EDS for such a service: its addresses are resolved by DNS or are the
// proxy's original destination.
func (s *Service) Headless() bool { return s.headless }

// Object returns the Service object. The API server allocates the cluster
// address.
func (s *Service) Object() *corev1.Service {
	out := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: s.namespace, Labels: maps.Clone(s.shared.labels)},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: maps.Clone(s.selector)},
	}
	out.Labels["app"] = s.name
	switch {
	case s.hidden:
		out.Annotations = map[string]string{exportTo: "~"}
	case s.shared.scope == ScopeExportTo:
		out.Annotations = map[string]string{exportTo: "."}
	}
	if s.headless {
		out.Spec.ClusterIP = corev1.ClusterIPNone
	}
	add := func(protocol corev1.Protocol, ports []port) {
		for _, p := range ports {
			out.Spec.Ports = append(out.Spec.Ports, corev1.ServicePort{
				Name:       p.name,
				Protocol:   protocol,
				Port:       p.number,
				TargetPort: intstr.FromInt32(p.target),
			})
		}
	}
	add(corev1.ProtocolTCP, s.ports)
	add(corev1.ProtocolUDP, s.datagram)
	return out
}

// Account returns the service account that the service's pods run as. A real API
// server refuses pods whose account is missing.
func (s *Service) Account() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Name: s.name, Namespace: s.namespace, Labels: maps.Clone(s.shared.labels),
	}}
}

// Slices returns the service's EndpointSlices as they should now be.
func (s *Service) Slices() []*discoveryv1.EndpointSlice {
	if s.absent {
		return nil
	}
	out := make([]*discoveryv1.EndpointSlice, len(s.slices))
	for i := range s.slices {
		out[i] = s.Slice(i)
	}
	return append(out, s.oddSlices()...)
}

// NumSlices returns how many EndpointSlices the service has, at least one.
func (s *Service) NumSlices() int { return len(s.slices) }

// SliceKey returns "namespace/name" of the EndpointSlice with this index.
func (s *Service) SliceKey(i int) string { return s.slices[i].key }

// Slice returns the EndpointSlice with this index as it should now be. Later
// operations do not change the object, but it shares the parts of its
// endpoints with the model: do not write through their pointers.
func (s *Service) Slice(i int) *discoveryv1.EndpointSlice {
	out := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: s.slices[i].name, Namespace: s.namespace, Labels: maps.Clone(s.sliceLabels)},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   slices.Clone(s.slices[i].endpoints),
	}
	if note := s.slices[i].note; note > 0 {
		out.Annotations = map[string]string{noteAnnotation: strconv.Itoa(note)}
	}
	out.Ports = s.endpointPorts(s.listed(i))
	return out
}

// endpointPorts returns these ports, and those of UDP, as a slice lists them.
func (s *Service) endpointPorts(visible []port) []discoveryv1.EndpointPort {
	var out []discoveryv1.EndpointPort
	add := func(protocol corev1.Protocol, ports []port) {
		for _, p := range ports {
			out = append(out, discoveryv1.EndpointPort{Name: new(p.name), Port: new(p.target), Protocol: new(protocol)})
		}
	}
	add(corev1.ProtocolTCP, visible)
	add(corev1.ProtocolUDP, s.datagram)
	return out
}

// Pods returns the objects of the service's pods, in the order of the slices.
func (s *Service) Pods() []*corev1.Pod {
	out := make([]*corev1.Pod, 0, len(s.pods))
	for i, slice := range s.slices {
		for _, e := range slice.endpoints {
			if m := s.pods[e.TargetRef.Name]; m.slice == i { // not where it is moving away
				out = append(out, m.pod.Object())
			}
		}
	}
	if s.odd != nil && s.odd.pod != nil && !s.absent {
		out = append(out, s.odd.pod.Object())
	}
	return out
}

// States returns the service's clusters, one per port and then those of its subsets, each with the
// fingerprint of its usable endpoints. It is nil for a headless service, and for one that
// does not exist.
func (s *Service) States() []event.Expected {
	if s.headless || s.absent {
		return nil
	}
	return append(slices.Clone(s.states), s.subsetStates(versions()...)...)
}

// Usable returns the hashes of the usable endpoints of each cluster, in the
// order of the slices. It is nil for a headless service. An endpoint is usable
// when its ready condition is true.
func (s *Service) Usable() map[string][]uint64 {
	if s.headless || s.absent {
		return nil
	}
	out := make(map[string][]uint64, len(s.states))
	ready := s.Ready()
	for i, p := range s.ports {
		hashes := append(make([]uint64, 0, len(ready)), s.oddHashes(p.name)...)
		for _, name := range ready {
			m := s.pods[name]
			if target, ok := s.target(m.slice, p.name); ok {
				hashes = append(hashes, event.EndpointHash(m.pod.IP, uint32(target)))
			}
		}
		out[s.states[i].Name] = hashes
		if s.subsets {
			for _, version := range versions() {
				out[subsetName(s.states[i].Name, version)] = s.subsetHashes(p, version)
			}
		}
	}
	return out
}

// Ready returns the names of the pods that are ready, in the order of the slices.
func (s *Service) Ready() []string {
	out := make([]string, 0, len(s.pods))
	for i, slice := range s.slices {
		for _, e := range slice.endpoints {
			if m := s.pods[e.TargetRef.Name]; m.condition == Ready && m.slice == i {
				out = append(out, e.TargetRef.Name)
			}
		}
	}
	return out
}
