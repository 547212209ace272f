package churn

import (
	"fmt"
	"strings"

	"github.com/xdsbench/xdsbench/mesh"
)

// preparation is what a plan wants of the mesh before it begins: services that some
// operation needs in a state that they do not have by themselves. The planner finds out
// only while it plans, and takes services that no operation has touched until then, or
// makes them.
type preparation []prepared

// prepared is one service, and what it needs.
type prepared struct {
	service string
	// keep is how many of its endpoints it keeps; negative is all.
	keep int
	// port adds a port.
	port bool
	// fresh says that the mesh does not have the service. It is there from the start with
	// the pods of these numbers; without any it is not.
	fresh bool
	pods  []int
	// object is the kind of a config object about the service that is there from the
	// start; none if empty.
	object mesh.ConfigKind
}

// Prepare brings the mesh that was planned for into the state in which the schedule
// begins. Call it once, before the mesh's objects are written.
func (s *Schedule) Prepare(m *mesh.Mesh) error {
	for _, p := range s.prepared {
		if p.fresh {
			m.Adopt(p.fill(m.SpareService(p.name())))
			continue
		}
		service := m.Service(p.service)
		if service == nil {
			return fmt.Errorf("churn: service %s is not in the mesh: prepare the mesh that the schedule was planned for", p.service)
		}
		if err := p.apply(service); err != nil {
			return err
		}
		if p.object != "" {
			config, err := m.ConfigObject(p.object, service, firstObject)
			if err != nil {
				return err
			}
			m.Configs = append(m.Configs, config)
		}
	}
	return nil
}

func (p prepared) name() (namespace, name string) {
	namespace, name, _ = strings.Cut(p.service, "/")
	return namespace, name
}

// fill gives a fresh service its pods.
func (p prepared) fill(s *mesh.Service) *mesh.Service {
	if len(p.pods) == 0 {
		return s
	}
	_, _ = s.Create() // it does not exist
	for _, number := range p.pods {
		// Pods that there are no addresses for are missed when they are to be removed.
		if pod, err := s.NewPod(number); err == nil {
			_, _ = s.Add(s.Room(1), mesh.Ready, pod)
		}
	}
	return s
}

func (p prepared) apply(s *mesh.Service) error {
	if p.port {
		if _, err := s.AddPort(); err != nil {
			return err
		}
		for i := range s.NumSlices() {
			if _, err := s.Sync(i); err != nil {
				return err
			}
		}
	}
	if p.keep < 0 {
		return nil
	}
	for _, pod := range s.Ready()[min(p.keep, len(s.Ready())):] {
		if _, err := s.Remove(pod); err != nil {
			return err
		}
	}
	return nil
}

// prepare takes a service that nothing has touched and that allows for it, and prepares
// it; nil if there is none. Half of the services stay as they are.
func (p *planner) prepare(e *entry, want prepared, allows func(*model) bool) *model {
	if 2*(p.reserved+1) > len(e.targets) {
		return nil
	}
	m := p.choose(e, func(m *model) bool {
		return !m.touched && (m.Key() != p.targets[0].Key() || e.Target == hot) && allows(m)
	})
	if m == nil {
		return nil
	}
	want.service = m.Key()
	if err := want.apply(m.Service); err != nil {
		return nil
	}
	p.reserved++
	p.out.prepared = append(p.out.prepared, want)
	m.free = m.Ready()
	m.touched = true
	return m
}
