package mesh

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/xdsbench/xdsbench/mesh/custom"
)

// maxChecked bounds the services that templates are rendered for when a profile is
// checked. A run renders them for all before it starts anything.
const maxChecked = 500

// addCustom makes the objects of the spec's templates and CRDs.
func (m *Mesh) addCustom(cfg Config, sh *shared) error {
	if len(cfg.Objects) == 0 && len(cfg.CRDs) == 0 {
		return nil
	}
	var namespaces []string
	for _, n := range m.Namespaces {
		namespaces = append(namespaces, n.Name)
	}
	var services []*corev1.Service
	for _, s := range m.Services {
		services = append(services, s.Object())
	}
	var defErr, err error
	m.Definitions, defErr = custom.Definitions(cfg.CRDs, sh.labels)
	m.Custom, err = custom.Render(cfg.Objects, custom.Mesh{Namespaces: namespaces, Services: services, Labels: sh.labels})
	return errors.Join(defErr, err)
}

// validateCustom checks templates and CRDs. That what they render to can be created is
// seen by rendering them for a mesh with the same services, but few endpoints; if the
// rest of the config is not valid, for a mesh of the default size.
func (cfg Config) validateCustom(valid bool) error {
	if len(cfg.Objects) == 0 && len(cfg.CRDs) == 0 {
		return nil
	}
	var problems []error
	for i := range cfg.Objects {
		if err := cfg.Objects[i].Validate(); err != nil {
			before := fmt.Sprintf("mesh.objects[%d].", i)
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if strings.HasPrefix(line, "template: ") {
					problems = append(problems, errors.New(before+line))
				} else {
					problems = append(problems, errors.New(strings.TrimSuffix(before, ".")+": "+line))
				}
			}
		}
	}
	small := cfg
	small.Proxies, small.RunID = 0, ""
	small.EndpointsPerService, small.Services = 1, min(cfg.Services, maxChecked)
	small.Classes = slices.Clone(small.Classes)
	for i := range small.Classes {
		c := &small.Classes[i]
		c.Endpoints, c.Services = min(c.Endpoints, 1), min(c.Services, maxChecked)
	}
	if !valid {
		small.Spec, small.ClusterName = DefaultSpec(), DefaultClusterName
		small.Objects, small.CRDs = cfg.Objects, cfg.CRDs
	}
	_, err := build(small.withDefaults())
	return errors.Join(append(problems, err)...)
}
