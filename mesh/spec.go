package mesh

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/mesh/custom"
)

// The ways in which endpoints spread over services.
const (
	// uniform gives every service the same number of endpoints.
	uniform = "uniform"
	// zipf gives the service of rank r a share that falls as 1/r, one endpoint
	// at least, and keeps the mean.
	zipf = "zipf"
)

// The values of Spec.Scope.
const (
	ScopeMesh       = "mesh"
	ScopeNamespace  = "namespace"
	ScopeExportTo   = "exportTo"
	ScopeSubscribed = "subscribed"
)

// The protocols of ports, as the names of Service ports select them
// (https://istio.io/latest/docs/ops/configuration/traffic-management/protocol-selection/).
const (
	protocolHTTP = "http"
	protocolTCP  = "tcp"
	protocolGRPC = "grpc"
	protocolUDP  = "udp"
)

// maxEndpoints keeps half of the addresses of 10.0.0.0/8 for the pods that
// churn creates.
const maxEndpoints = maxPods / 2

// Spec is the part of a profile that sizes the mesh.
type Spec struct {
	// Namespaces is how many namespaces the services and proxies are spread over.
	Namespaces int `json:"namespaces" role:"load"`
	// Services is how many services there are in all, beside the fleet's own.
	Services int `json:"services" role:"load"`
	// EndpointsPerService is the mean number of endpoints of a service.
	EndpointsPerService int `json:"endpointsPerService" role:"load"`
	// Ports is how many ports each service has, from 1 to 32. Each is a cluster of its
	// own, unless it is UDP.
	Ports int `json:"ports" role:"load"`
	// PortProtocols are the protocols of a service's ports, in turn: "http", "tcp",
	// "grpc" or "udp". Empty is http for the first and tcp for the others. UDP ports are
	// in the objects, but proxies see nothing of them.
	PortProtocols []string `json:"portProtocols,omitempty" role:"load"`
	// Headless is the share of services that are headless, from 0 to 1.
	Headless float64 `json:"headless" role:"load"`
	// Distribution is how endpoints spread over services: "uniform" or "zipf".
	Distribution string `json:"distribution" role:"load"`
	// Classes are the sizes of services, in place of services, endpointsPerService,
	// distribution and headless, which are left out then. Empty: there are none.
	Classes []Class `json:"classes,omitempty"`
	// VirtualServices is how many services have an Istio VirtualService from the start,
	// DestinationRules how many have a DestinationRule: those that are not headless, in
	// order. Operations of churn that remove services or ports leave them alone.
	VirtualServices  int `json:"virtualServices,omitempty" role:"load"`
	DestinationRules int `json:"destinationRules,omitempty" role:"load"`
	// Subsets says that those DestinationRules divide their services into two subsets, by
	// the label version of the pods, v1 and v2: each port has a cluster for each as well.
	Subsets bool `json:"subsets,omitempty" role:"load"`
	// Oddities is the share of services, from 0 to 1, that hold what is rare beside
	// their endpoints: a slice of host names, one without ports, one of IPv6 addresses,
	// an endpoint whose conditions are unset, one with several addresses, and a pod of
	// another service. Headless services have none, and operations of churn that remove
	// services or ports leave those with them alone. What proxies must hold of them is
	// what istiod makes of them: nothing of the first two.
	Oddities float64 `json:"oddities,omitempty" role:"load"`
	// Scope is which services each proxy has to know: "mesh" is all of them;
	// "namespace" those of its namespace, by an Istio Sidecar object in each; "exportTo"
	// the same, by Istio's annotation on each service; "subscribed" those that it asks for, as behind a gateway's control plane that
	// serves only what routes refer to. What a proxy does not get of services that it
	// has to know is undelivered.
	Scope string `json:"scope" role:"load"`
	// Objects are further objects, of any kind, made from templates. They are created
	// after the mesh and before the control plane starts, and removed at the end.
	Objects []custom.Template `json:"objects,omitempty"`
	// CRDs are files of CustomResourceDefinitions, for kinds that the API server does
	// not serve. They are applied first. One that is there already stays as it is.
	CRDs []custom.File `json:"crds,omitempty"`
}

// DefaultSpec returns a mesh of 100 services with 5 endpoints each.
func DefaultSpec() Spec {
	return Spec{
		Namespaces:          5,
		Services:            100,
		EndpointsPerService: 5,
		Ports:               1,
		Distribution:        uniform,
		Scope:               ScopeMesh,
	}
}

// Validate returns every problem of the spec, joined; each is one line that
// begins with the path of the field.
func (s Spec) Validate() error {
	var problems []error
	problem := func(field string, value any, want string) {
		problems = append(problems, fmt.Errorf("mesh.%s: %v: %s", field, value, want))
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"namespaces", s.Namespaces},
		{"services", s.Services},
		{"endpointsPerService", s.EndpointsPerService},
		{"ports", s.Ports},
	} {
		if f.value < 1 {
			problem(f.name, f.value, "must be at least 1")
		}
	}
	if s.Ports > maxPorts {
		problem("ports", s.Ports, fmt.Sprintf("must be at most %d", maxPorts))
	}
	s.validateProtocols(problem)
	s.validateClasses(problem)
	s.validateExtras(problem)
	if s.Services > maxEndpoints {
		problem("services", s.Services, fmt.Sprintf("must be at most %d", maxEndpoints))
	}
	if s.Services > 0 && s.EndpointsPerService > maxEndpoints/s.Services {
		problem("endpointsPerService", s.EndpointsPerService,
			fmt.Sprintf("must be at most %d with %d services, for 10.0.0.0/8 to hold the pods", maxEndpoints/s.Services, s.Services))
	}
	if s.Headless < 0 || s.Headless > 1 || math.IsNaN(s.Headless) {
		problem("headless", s.Headless, "must be a share from 0 to 1")
	}
	if s.Distribution != uniform && s.Distribution != zipf {
		problem("distribution", fmt.Sprintf("%q", s.Distribution), fmt.Sprintf("must be %q or %q", uniform, zipf))
	}
	if scopes := []string{ScopeMesh, ScopeNamespace, ScopeExportTo, ScopeSubscribed}; !slices.Contains(scopes, s.Scope) {
		problem("scope", fmt.Sprintf("%q", s.Scope), "must be one of "+strings.Join(scopes, ", "))
	}
	return errors.Join(problems...)
}
