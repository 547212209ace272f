package custom

import (
	"errors"
	"fmt"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"
)

// Template is one entry of a profile's mesh.objects. Exactly one of the three is true.
type Template struct {
	// PerService renders the template once for each service that churn changes.
	PerService bool `json:"perService,omitempty" role:"load"`
	// PerNamespace renders it once for each namespace.
	PerNamespace bool `json:"perNamespace,omitempty" role:"load"`
	// Once renders it once.
	Once bool `json:"once,omitempty" role:"load"`
	// File has the template.
	File File `json:"template"`
}

// Service is what a template with perService is given.
type Service struct {
	Name, Namespace string
	// Host is the service's DNS name, such as svc-0.xb-0.svc.cluster.local.
	Host string
	// Index counts the services from 0.
	Index    int
	Headless bool
	Ports    []Port
}

// Port is one port of a service. TargetPort is the pods' own, Protocol TCP or UDP.
type Port struct {
	Name               string
	Number, TargetPort int32
	Protocol           string
}

// Namespace is what a template with perNamespace is given: its services, and its
// Index, which counts the namespaces from 0.
type Namespace struct {
	Name     string
	Index    int
	Services []Service
}

// Whole is what a template with once is given.
type Whole struct {
	Namespaces []Namespace
	Services   []Service
}

// Validate returns every problem of the entry that shows without a mesh, joined, a
// line each.
func (t *Template) Validate() error {
	var problems []error
	chosen := 0
	for _, c := range []bool{t.PerService, t.PerNamespace, t.Once} {
		if c {
			chosen++
		}
	}
	if chosen != 1 {
		problems = append(problems, fmt.Errorf("%d of perService, perNamespace and once are true: exactly one must be", chosen))
	}
	if t.File.Text == "" && t.File.Path == "" {
		problems = append(problems, fmt.Errorf("template: %w", errNoFile))
	}
	if _, err := t.parse(); err != nil {
		problems = append(problems, fmt.Errorf("template: %w", err))
	}
	return errors.Join(problems...)
}

func (t *Template) parse() (*template.Template, error) {
	parsed, err := template.New(t.File.name()).Option("missingkey=error").Parse(t.File.Text)
	return parsed, oneLine(err)
}

// oneLine is the error in one line, without the word that text/template begins with:
// what is left begins with file and line.
func oneLine(err error) error {
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), "template: ")
	return errors.New(strings.Join(strings.Fields(text), " "))
}

// instance is one use of a template: what it is given, and the namespace that objects
// without one are in.
type instance struct {
	what string // names it in errors
	home string
	data any
}

// instances lists the uses of a template.
func (t *Template) instances(whole *Whole) []instance {
	var all []instance
	switch {
	case t.PerService:
		for _, s := range whole.Services {
			all = append(all, instance{"service " + s.Namespace + "/" + s.Name, s.Namespace, s})
		}
	case t.PerNamespace:
		for _, n := range whole.Namespaces {
			all = append(all, instance{"namespace " + n.Name, n.Name, n})
		}
	case t.Once:
		all = append(all, instance{"the mesh", "", *whole})
	}
	return all
}

// wholeOf describes a mesh for templates.
func wholeOf(namespaces []string, services []*corev1.Service) *Whole {
	whole := &Whole{}
	index := map[string]int{}
	for i, name := range namespaces {
		whole.Namespaces = append(whole.Namespaces, Namespace{Name: name, Index: i})
		index[name] = i
	}
	for i, s := range services {
		described := Service{
			Name: s.Name, Namespace: s.Namespace, Host: s.Name + "." + s.Namespace + ".svc.cluster.local",
			Index: i, Headless: s.Spec.ClusterIP == corev1.ClusterIPNone,
		}
		for _, p := range s.Spec.Ports {
			protocol := p.Protocol
			if protocol == "" {
				protocol = corev1.ProtocolTCP
			}
			described.Ports = append(described.Ports, Port{
				Name: p.Name, Number: p.Port, TargetPort: p.TargetPort.IntVal, Protocol: string(protocol),
			})
		}
		whole.Services = append(whole.Services, described)
		if n, ok := index[s.Namespace]; ok {
			whole.Namespaces[n].Services = append(whole.Namespaces[n].Services, described)
		}
	}
	return whole
}
