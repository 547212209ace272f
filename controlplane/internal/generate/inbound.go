package generate

import "github.com/xdsbench/xdsbench/controlplane/internal/kube"

// InboundPort is a port of a workload that a service leads to.
type InboundPort struct {
	Number      uint32 // on the workload
	ServicePort uint32
	Service     *kube.Service
	Protocol    kube.Protocol
}

// InboundPorts lists the ports of w that services lead to, each once.
func InboundPorts(w *kube.Workload, services []*kube.Service) []InboundPort {
	var out []InboundPort
	seen := make(map[uint32]bool)
	for _, s := range services {
		if !w.SelectedBy(s) {
			continue
		}
		for _, port := range s.Ports {
			number := w.Port(port)
			if number == 0 || seen[number] {
				continue
			}
			seen[number] = true
			out = append(out, InboundPort{
				Number: number, ServicePort: port.Number, Service: s, Protocol: port.Protocol,
			})
		}
	}
	return out
}
