package controlplane

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// service is what proxies can see of a Kubernetes service. Immutable.
type service struct {
	key      serviceKey
	address  string // cluster IP; empty if none was allocated
	headless bool
	selector map[string]string
	ports    []servicePort
	// hidden services are in no proxy's outbound configuration; their own pods
	// still get inbound listeners for them, as from istiod.
	hidden bool
}

// exportToAnnotation names the namespaces that see a service
// (https://istio.io/latest/docs/reference/config/annotations/). Of its values
// the one that stands for none is known here; with any other the service is
// visible to all.
const (
	exportToAnnotation = "networking.istio.io/exportTo"
	exportToNone       = "~"
)

type servicePort struct {
	name       string
	number     uint32
	target     uint32 // numeric target port, or 0
	targetName string // named target port, resolved per pod
	protocol   protocol
}

// protocol is what a listener must know of a port.
type protocol int

const (
	protocolTCP protocol = iota
	protocolHTTP
	protocolHTTP2
)

func (p protocol) isHTTP() bool { return p == protocolHTTP || p == protocolHTTP2 }

// hostname is the fully qualified name of the service.
func (s *service) hostname() string {
	return s.key.name + "." + s.key.namespace + ".svc." + clusterDomain
}

// newService converts object; it returns nil if proxies see nothing of it.
func newService(object *corev1.Service) *service {
	if object.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	s := &service{
		key:      serviceKey{namespace: object.Namespace, name: object.Name},
		headless: object.Spec.ClusterIP == corev1.ClusterIPNone,
		selector: object.Spec.Selector,
		hidden:   object.Annotations[exportToAnnotation] == exportToNone,
	}
	if !s.headless {
		s.address = object.Spec.ClusterIP
	}
	for i := range object.Spec.Ports {
		port := &object.Spec.Ports[i]
		// Envoy's listeners here are TCP ones; istiod leaves UDP out too.
		if port.Protocol == corev1.ProtocolUDP || port.Protocol == corev1.ProtocolSCTP {
			continue
		}
		s.ports = append(s.ports, newServicePort(port))
	}
	return s
}

func newServicePort(port *corev1.ServicePort) servicePort {
	out := servicePort{
		name:     port.Name,
		number:   uint32(port.Port),
		protocol: portProtocol(port),
	}
	switch {
	case port.TargetPort.StrVal != "":
		out.targetName = port.TargetPort.StrVal
	case port.TargetPort.IntVal != 0:
		out.target = uint32(port.TargetPort.IntVal)
	default:
		// "If this is not specified, the value of the 'port' field is used"
		// (Kubernetes ServicePort.targetPort).
		out.target = out.number
	}
	return out
}

// portProtocol follows Istio's explicit protocol selection: appProtocol, or
// the port name up to its first dash. Anything else is TCP; there is no
// sniffing.
func portProtocol(port *corev1.ServicePort) protocol {
	name, _, _ := strings.Cut(port.Name, "-")
	if port.AppProtocol != nil {
		name = *port.AppProtocol
	}
	switch strings.ToLower(name) {
	case "http":
		return protocolHTTP
	case "http2", "grpc", "kubernetes.io/h2c":
		return protocolHTTP2
	default:
		return protocolTCP
	}
}

// equal tells whether proxies would see the same in both; either may be nil.
func (s *service) equal(other *service) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.key == other.key && s.address == other.address && s.headless == other.headless && s.hidden == other.hidden &&
		maps.Equal(s.selector, other.selector) && slices.Equal(s.ports, other.ports)
}

// endpointSlice is the part of an EndpointSlice that proxies can see.
// Immutable.
type endpointSlice struct {
	ports     []slicePort
	endpoints []sliceEndpoint
}

type slicePort struct {
	name   string
	number uint32
}

type sliceEndpoint struct {
	address string
	node    string
	zone    string
	healthy bool
}

// newEndpointSlice keeps of object what can be sent: endpoints that are
// terminating never, endpoints that are not ready only with sendUnhealthy. A
// nil ready condition means ready and a nil terminating one not terminating
// (Kubernetes EndpointConditions).
func newEndpointSlice(object *discoveryv1.EndpointSlice, sendUnhealthy bool) *endpointSlice {
	out := &endpointSlice{}
	if object.AddressType == discoveryv1.AddressTypeFQDN {
		return out
	}
	for i := range object.Ports {
		port := &object.Ports[i]
		if port.Port == nil {
			continue // "all ports": nothing that an address could be made of
		}
		var name string
		if port.Name != nil {
			name = *port.Name
		}
		out.ports = append(out.ports, slicePort{name: name, number: uint32(*port.Port)})
	}
	for i := range object.Endpoints {
		out.endpoints = appendEndpoint(out.endpoints, &object.Endpoints[i], sendUnhealthy)
	}
	return out
}

func appendEndpoint(list []sliceEndpoint, object *discoveryv1.Endpoint, sendUnhealthy bool) []sliceEndpoint {
	conditions := object.Conditions
	if conditions.Terminating != nil && *conditions.Terminating {
		return list
	}
	healthy := conditions.Ready == nil || *conditions.Ready
	if !healthy && !sendUnhealthy {
		return list
	}
	endpoint := sliceEndpoint{healthy: healthy}
	if object.NodeName != nil {
		endpoint.node = *object.NodeName
	}
	if object.Zone != nil {
		endpoint.zone = *object.Zone
	}
	for _, address := range object.Addresses {
		endpoint.address = address
		list = append(list, endpoint)
	}
	return list
}

func (s *endpointSlice) equal(other *endpointSlice) bool {
	if s == nil || other == nil {
		return s.empty() && other.empty()
	}
	return slices.Equal(s.endpoints, other.endpoints) &&
		(len(s.endpoints) == 0 || slices.Equal(s.ports, other.ports))
}

func (s *endpointSlice) empty() bool { return s == nil || len(s.endpoints) == 0 }

// usesNode tells whether an endpoint of the slice is on node.
func (s *endpointSlice) usesNode(node string) bool {
	return slices.ContainsFunc(s.endpoints, func(e sliceEndpoint) bool { return e.node == node })
}

// locality is where an endpoint runs.
type locality struct{ region, zone, subzone string }

func (l locality) compare(other locality) int {
	return cmp.Or(cmp.Compare(l.region, other.region), cmp.Compare(l.zone, other.zone),
		cmp.Compare(l.subzone, other.subzone))
}

// subzoneLabel is Istio's; region and zone have labels of Kubernetes.
const subzoneLabel = "topology.istio.io/subzone"

func nodeLocality(node *corev1.Node) locality {
	return locality{
		region:  node.Labels[corev1.LabelTopologyRegion],
		zone:    node.Labels[corev1.LabelTopologyZone],
		subzone: node.Labels[subzoneLabel],
	}
}

// workload is what decides a proxy's inbound configuration: the labels that
// services select by and the named ports of its pod. Immutable.
type workload struct {
	namespace string
	labels    map[string]string
	ports     map[string]uint32
	key       string // equal for workloads of equal content
}

// newWorkload returns the workload of a pod and the address that its proxy
// reports; nil for pods that have no address of their own or have ended.
func newWorkload(pod *corev1.Pod) (*workload, string) {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.Status.PodIP == "" || pod.Spec.HostNetwork || ended {
		return nil, ""
	}
	w := &workload{namespace: pod.Namespace, labels: pod.Labels, ports: make(map[string]uint32)}
	for i := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[i].Ports {
			if port.Name != "" {
				w.ports[port.Name] = uint32(port.ContainerPort)
			}
		}
	}
	w.key = w.makeKey()
	return w, pod.Status.PodIP
}

// makeKey quotes its parts, so that no two contents share a key.
func (w *workload) makeKey() string {
	key := strconv.AppendQuote(nil, w.namespace)
	for _, name := range slices.Sorted(maps.Keys(w.labels)) {
		key = strconv.AppendQuote(key, name)
		key = strconv.AppendQuote(key, w.labels[name])
	}
	key = append(key, '|')
	for _, name := range slices.Sorted(maps.Keys(w.ports)) {
		key = strconv.AppendQuote(key, name)
		key = strconv.AppendUint(key, uint64(w.ports[name]), 10)
	}
	return string(key)
}

// selectedBy tells whether s selects w. A service without selector selects
// nothing.
func (w *workload) selectedBy(s *service) bool {
	if len(s.selector) == 0 || s.key.namespace != w.namespace {
		return false
	}
	for name, value := range s.selector {
		if have, ok := w.labels[name]; !ok || have != value {
			return false
		}
	}
	return true
}

// port resolves the target of p; 0 if the pod has no port of that name.
func (w *workload) port(p servicePort) uint32 {
	if p.targetName != "" {
		return w.ports[p.targetName]
	}
	return p.target
}
