// Package kube reduces Kubernetes objects to what proxies can see of them. Its
// values are immutable, and equal ones look the same to every proxy.
package kube

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

const clusterDomain = "cluster.local"

// ExportToAnnotation names the namespaces to which a service is visible
// (https://istio.io/latest/docs/reference/config/annotations/), separated by
// commas: "." is the service's own, "*" all, "~" none. Without it a service is
// visible to all.
const ExportToAnnotation = "networking.istio.io/exportTo"

// Service is what proxies can see of a Service.
type Service struct {
	Name     types.NamespacedName
	Address  string // cluster IP; empty if it is headless or none was allocated
	Headless bool
	Selector map[string]string
	Ports    []Port
	// Hidden services are in no proxy's outbound configuration; their own pods
	// still get inbound listeners for them, as from istiod.
	Hidden bool
	// ExportTo are the namespaces whose proxies see the service; nil for all.
	ExportTo []string
}

// Port is a port of a service.
type Port struct {
	Name       string
	Number     uint32
	Target     uint32 // numeric target port, or 0
	TargetName string // named target port, resolved per pod
	Protocol   Protocol
}

// Protocol is what a listener must know of a port.
type Protocol int

// The protocols that are distinguished; all others count as TCP.
const (
	TCP Protocol = iota
	HTTP
	HTTP2
)

// IsHTTP tells whether requests, not connections, are routed.
func (p Protocol) IsHTTP() bool { return p == HTTP || p == HTTP2 }

// NewService returns nil if proxies see nothing of the object.
func NewService(object *corev1.Service) *Service {
	if object.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	s := &Service{
		Name:     types.NamespacedName{Namespace: object.Namespace, Name: object.Name},
		Headless: object.Spec.ClusterIP == corev1.ClusterIPNone,
		Selector: object.Spec.Selector,
	}
	s.export(object.Annotations[ExportToAnnotation])
	if !s.Headless {
		s.Address = object.Spec.ClusterIP
	}
	for i := range object.Spec.Ports {
		port := &object.Spec.Ports[i]
		// All listeners are TCP ones; istiod leaves UDP out too.
		if port.Protocol != corev1.ProtocolUDP && port.Protocol != corev1.ProtocolSCTP {
			s.Ports = append(s.Ports, newPort(port))
		}
	}
	return s
}

func newPort(object *corev1.ServicePort) Port {
	port := Port{
		Name:     object.Name,
		Number:   uint32(object.Port),
		Protocol: protocolOf(object),
	}
	switch target := object.TargetPort; {
	case target.StrVal != "":
		port.TargetName = target.StrVal
	case target.IntVal != 0:
		port.Target = uint32(target.IntVal)
	default:
		// "If this is not specified, the value of the 'port' field is used"
		// (Kubernetes ServicePort.targetPort).
		port.Target = port.Number
	}
	return port
}

// protocolOf follows Istio's explicit protocol selection: appProtocol, or else the
// port name up to its first dash. Protocols are not sniffed.
func protocolOf(port *corev1.ServicePort) Protocol {
	name, _, _ := strings.Cut(port.Name, "-")
	if port.AppProtocol != nil {
		name = *port.AppProtocol
	}
	return protocolNamed(name)
}

func protocolNamed(name string) Protocol {
	switch strings.ToLower(name) {
	case "http":
		return HTTP
	case "http2", "grpc", "kubernetes.io/h2c":
		return HTTP2
	default:
		return TCP
	}
}

// export takes the value of the annotation.
func (s *Service) export(value string) {
	var namespaces []string
	for item := range strings.SplitSeq(value, ",") {
		switch item = strings.TrimSpace(item); item {
		case "":
		case "*":
			return
		case "~":
			s.Hidden = true
			return
		case ".":
			namespaces = append(namespaces, s.Name.Namespace)
		default:
			namespaces = append(namespaces, item)
		}
	}
	slices.Sort(namespaces)
	s.ExportTo = slices.Compact(namespaces)
}

// ExportedTo tells whether the proxies of a namespace may see the service.
func (s *Service) ExportedTo(namespace string) bool {
	return !s.Hidden && (s.ExportTo == nil || slices.Contains(s.ExportTo, namespace))
}

// ListenerPerEndpoint tells whether proxies have a listener for each endpoint of
// the service: with no cluster IP to listen on, only the endpoints' addresses
// tell the TCP connections of one service from those of another.
func (s *Service) ListenerPerEndpoint() bool {
	return s.Headless && slices.ContainsFunc(s.Ports, func(p Port) bool { return !p.Protocol.IsHTTP() })
}

// Hostname is the fully qualified name of the service.
func (s *Service) Hostname() string {
	return s.Name.Name + "." + s.Name.Namespace + ".svc." + clusterDomain
}

// Equal tells whether proxies see the same in both; either may be nil.
func (s *Service) Equal(other *Service) bool { return equality.Semantic.DeepEqual(s, other) }
