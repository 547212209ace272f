package churn

import (
	"fmt"
	"time"

	"github.com/xdsbench/xdsbench/mesh"
)

// serviceAdd puts a new service, with endpoints, into a namespace of the mesh.
func (p *planner) serviceAdd(e *entry) int {
	namespace := e.targets[e.choice.IntN(len(e.targets))].Namespace()
	m := p.fresh(namespace, nil)
	op, now := p.begin(e, m), e.pace.now()
	p.serve(op, now, serving{what: createService})
	p.add(op, now, e.Pods)
	return 2
}

// serviceRemove deletes a service that nothing else is changing. The first one stays.
func (p *planner) serviceRemove(e *entry) int {
	m := p.choose(e, func(m *model) bool { return m.idle() && !m.configured && m.Key() != p.targets[0].Key() })
	if m == nil {
		return 0
	}
	op, now := p.begin(e, m), e.pace.now()
	m.free, m.rolling = nil, true
	p.serve(op, now, serving{what: deleteService})
	return 1
}

// portAdd adds a port to a Service, and then to its slices.
func (p *planner) portAdd(e *entry) int {
	m := p.choose(e, func(m *model) bool { return m.Ports() < maxPortsAdded && !m.configured })
	if m == nil {
		return 0
	}
	return p.rename(p.begin(e, m), e.pace.now(), serving{what: addPort})
}

// portRemove removes a port from a Service, and then from its slices.
func (p *planner) portRemove(e *entry) int {
	m := p.choose(e, func(m *model) bool { return m.Ports() > 1 && !m.configured })
	if m == nil {
		m = p.prepare(e, prepared{keep: -1, port: true}, func(m *model) bool { return m.idle() && !m.configured })
	}
	if m == nil {
		return 0
	}
	return p.rename(p.begin(e, m), e.pace.now(), serving{what: removePort})
}

// targetPort gives a Service another target port, and then its slices.
func (p *planner) targetPort(e *entry) int {
	m := p.choose(e, e.spare)
	if m == nil {
		return 0
	}
	return p.rename(p.begin(e, m), e.pace.now(), serving{what: retarget, number: m.freshPort()})
}

// rename plans a change to a Service's ports, which its slices follow.
func (p *planner) rename(op operation, at time.Duration, ch serving) int {
	writes := 1 + op.model.NumSlices()
	p.at(at, func() error {
		if err := p.emit(op, at, stepService, ch); err != nil {
			return err
		}
		for i := range op.model.NumSlices() {
			if err := p.emit(op, at, stepEndpoints, slicing{what: syncPorts, slice: i}); err != nil {
				return err
			}
		}
		return nil
	})
	return writes
}

// namespaceAdd makes a namespace and, after the delay, a service with endpoints in it.
func (p *planner) namespaceAdd(e *entry) int {
	m := p.fresh(p.freshNamespace(), nil)
	op, now := p.begin(e, m), e.pace.now()
	p.at(now, func() error { return p.emit(op, now, stepNamespace, namespacing{namespace: m.Namespace()}) })
	p.serve(op, now+e.Delay.Duration, serving{what: createService})
	p.add(op, now+e.Delay.Duration, e.Pods)
	return 3
}

// namespaceRemove deletes the service of a namespace that was there from the start for
// this, and after the delay the namespace.
func (p *planner) namespaceRemove(e *entry) int {
	numbers := make([]int, e.Pods)
	for i := range numbers {
		numbers[i] = p.nextPod
		p.nextPod++
	}
	m := p.fresh(p.freshNamespace(), numbers)
	op, now := p.begin(e, m), e.pace.now()
	m.free, m.rolling = nil, true
	p.serve(op, now, serving{what: deleteService})
	gone := now + e.Delay.Duration
	p.at(gone, func() error {
		return p.emit(op, gone, stepNamespace, namespacing{namespace: m.Namespace(), gone: true})
	})
	return 2
}

// headlessPod adds a pod to a headless service, and after the delay takes it away: what
// proxies hold of it goes when it is no longer listed, not when it terminates.
func (p *planner) headlessPod(e *entry) int {
	if len(p.headless) == 0 {
		return 0
	}
	m := p.model(p.headless[e.choice.IntN(len(p.headless))])
	op, now := p.begin(e, m), e.pace.now()
	p.at(now, func() error {
		pods, err := p.addNow(op, now, mesh.Ready, 1)
		if err != nil {
			return err
		}
		later := now + e.Delay.Duration
		p.at(later, func() error {
			p.remove(op, later, stepRemoval, m.takeNamed(pods))
			return nil
		})
		return nil
	})
	return 2
}

// serve plans a change to a Service.
func (p *planner) serve(op operation, at time.Duration, ch serving) {
	p.at(at, func() error { return p.emit(op, at, stepService, ch) })
}

// fresh makes a service that the mesh does not have; with pods of these numbers it is
// there from the start.
func (p *planner) fresh(namespace string, pods []int) *model {
	p.services++
	want := prepared{service: namespace + "/" + fmt.Sprintf("new-%d", p.services), keep: -1, fresh: true, pods: pods}
	s := want.fill(p.mesh.SpareService(want.name()).Clone())
	p.out.prepared = append(p.out.prepared, want)
	m := &model{Service: s, flapped: map[string]bool{}}
	p.models[s] = m
	return m
}

func (p *planner) freshNamespace() string {
	p.namespaces++
	return p.mesh.SpareNamespace(p.namespaces)
}

// idle reports whether no operation is working on the service.
func (m *model) idle() bool { return !m.rolling && len(m.free) == m.Endpoints() }

// takeNamed takes pods out of those that are free.
func (m *model) takeNamed(pods []string) []string {
	taken := map[string]bool{}
	for _, pod := range pods {
		taken[pod] = true
	}
	var left []string
	for _, pod := range m.free {
		if !taken[pod] {
			left = append(left, pod)
		}
	}
	m.free = left
	return pods
}
