package churn

import (
	"fmt"

	"github.com/xdsbench/xdsbench/mesh"
)

// preparation is what a plan wants of the mesh before it begins: services that some
// operation needs in a state that they do not have by themselves. The planner finds out
// only while it plans, and takes services that no operation has touched until then.
type preparation []prepared

// prepared is one service, and what it needs.
type prepared struct {
	service string
	// keep is how many of its endpoints it keeps; negative is all.
	keep int
	// port adds a port.
	port bool
}

// Prepare brings the mesh that was planned for into the state in which the schedule
// begins. Call it once, before the mesh's objects are written.
func (s *Schedule) Prepare(m *mesh.Mesh) error {
	for _, p := range s.prepared {
		service := m.Service(p.service)
		if service == nil {
			return fmt.Errorf("churn: service %s is not in the mesh: prepare the mesh that the schedule was planned for", p.service)
		}
		if err := p.apply(service); err != nil {
			return err
		}
	}
	return nil
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
	if 2*len(p.out.prepared) >= len(e.targets) {
		return nil
	}
	m := p.choose(e, func(m *model) bool {
		return !m.touched && (m.Service.Key() != p.targets[0].Key() || e.Target == hot) && allows(m)
	})
	if m == nil {
		return nil
	}
	want.service = m.Key()
	if err := want.apply(m.Service); err != nil {
		return nil
	}
	p.out.prepared = append(p.out.prepared, want)
	m.free = m.Ready()
	m.touched = true
	return m
}
