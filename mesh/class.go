package mesh

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Class is a number of services of one size.
type Class struct {
	// Services is how many services are of the class.
	Services int `json:"services" role:"load"`
	// Endpoints is how many endpoints each has; 0 is none.
	Endpoints int `json:"endpoints" role:"load"`
	// Ports is how many ports each has; 0 is as many as mesh.ports says.
	Ports int `json:"ports,omitempty" role:"load"`
	// Headless says that they are headless.
	Headless bool `json:"headless,omitempty" role:"load"`
}

// Class returns the index of the service's class; 0 if the mesh has none.
func (s *Service) Class() int { return s.class }

// services returns how many services there are.
func (s Spec) services() int {
	if len(s.Classes) == 0 {
		return s.Services
	}
	n := 0
	for _, c := range s.Classes {
		n += c.Services
	}
	return n
}

// endpoints returns how many endpoints there are.
func (s Spec) endpoints() int {
	if len(s.Classes) == 0 {
		return s.Services * s.EndpointsPerService
	}
	n := 0
	for _, c := range s.Classes {
		n += c.Services * c.Endpoints
	}
	return n
}

// mostPorts returns the largest number of ports of a service.
func (s Spec) mostPorts() int {
	n := s.Ports
	for _, c := range s.Classes {
		n = max(n, c.Ports)
	}
	return n
}

type problemFunc func(field string, value any, want string)

func (s Spec) validateProtocols(problem problemFunc) {
	known := []string{protocolHTTP, protocolTCP, protocolGRPC, protocolUDP}
	for i, p := range s.PortProtocols {
		if !slices.Contains(known, p) {
			problem(fmt.Sprintf("portProtocols[%d]", i), fmt.Sprintf("%q", p), "must be one of "+strings.Join(known, ", "))
		}
	}
	fewest := s.Ports
	for _, c := range s.Classes {
		if c.Ports > 0 {
			fewest = min(fewest, c.Ports)
		}
	}
	first := slices.IndexFunc(s.PortProtocols, func(p string) bool { return p != protocolUDP })
	if len(s.PortProtocols) > 0 && fewest > 0 && (first < 0 || first >= fewest) {
		problem("portProtocols", strings.Join(s.PortProtocols, ", "),
			"a service would have ports of udp alone, of which no proxy is told: put another protocol first")
	}
}

// validateClasses checks the classes, and that nothing contradicts them. What is as in
// DefaultSpec counts as left out.
func (s Spec) validateClasses(problem problemFunc) {
	if len(s.Classes) == 0 {
		return
	}
	left := maxEndpoints
	for i, c := range s.Classes {
		at := fmt.Sprintf("classes[%d].", i)
		if c.Services < 1 || c.Services > maxEndpoints {
			problem(at+"services", c.Services, fmt.Sprintf("must be from 1 to %d", maxEndpoints))
			continue
		}
		if c.Endpoints < 0 {
			problem(at+"endpoints", c.Endpoints, "must not be negative")
		}
		if c.Endpoints > left/c.Services {
			problem(at+"endpoints", c.Endpoints, fmt.Sprintf("must be at most %d with %d services, for 10.0.0.0/8 to hold the pods of all classes", left/c.Services, c.Services))
			continue
		}
		left -= c.Services * max(c.Endpoints, 0)
		if c.Ports < 0 || c.Ports > maxPorts {
			problem(at+"ports", c.Ports, fmt.Sprintf("must be from 1 to %d, or 0 for mesh.ports", maxPorts))
		}
	}
	if n := s.services(); n > maxEndpoints {
		problem("classes", n, fmt.Sprintf("all together must be at most %d services", maxEndpoints))
	}
	unused, d := "is not used with mesh.classes: say it in the classes", DefaultSpec()
	if s.Services != d.Services {
		problem("services", s.Services, unused)
	}
	if s.EndpointsPerService != d.EndpointsPerService {
		problem("endpointsPerService", s.EndpointsPerService, unused)
	}
	if s.Distribution == zipf {
		problem("distribution", s.Distribution, unused)
	}
	if s.Headless != d.Headless {
		problem("headless", s.Headless, unused)
	}
}

// validateExtras checks what the mesh holds beside services and endpoints.
func (s Spec) validateExtras(problem problemFunc) {
	if s.Oddities < 0 || s.Oddities > 1 || math.IsNaN(s.Oddities) {
		problem("oddities", s.Oddities, "must be a share from 0 to 1")
	}
	if s.Subsets && s.DestinationRules == 0 {
		problem("subsets", s.Subsets, "without mesh.destinationRules there are none: say how many there are")
	}
	most := max(0, s.withAddress())
	for _, f := range []struct {
		name  string
		value int
	}{
		{"virtualServices", s.VirtualServices},
		{"destinationRules", s.DestinationRules},
	} {
		if f.value < 0 || f.value > most {
			problem(f.name, f.value, fmt.Sprintf("must be from 0 to %d, the number of services that are not headless", most))
		}
	}
}

// withAddress returns how many services are not headless.
func (s Spec) withAddress() int {
	if len(s.Classes) == 0 {
		if !(s.Headless >= 0 && s.Headless <= 1) {
			return s.Services
		}
		return s.Services - s.numHeadless()
	}
	n := 0
	for _, c := range s.Classes {
		if !c.Headless {
			n += c.Services
		}
	}
	return n
}
