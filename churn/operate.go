package churn

import (
	"time"

	"github.com/xdsbench/xdsbench/mesh"
)

// Names of steps.
const (
	stepAdd         = "add"
	stepReady       = "ready"
	stepUnready     = "unready"
	stepTerminating = "terminating"
	stepRemoval     = "removal"
)

// writesPerPod is what a rollout makes for each pod.
const writesPerPod = 4

// operation is one operation under way.
type operation struct {
	id    uint64
	kind  string
	model *model
}

// operate plans the steps of an operation that is not a rollout.
func (p *planner) operate(e *entry, op operation, now time.Duration) {
	later := now + e.Delay.Duration
	switch e.Kind {
	case PodAdd:
		p.add(op, now, mesh.Ready, 1)
	case ScaleUp:
		p.add(op, now, mesh.Ready, e.Pods)
	case PodDelete:
		pods := op.model.take(e.choice, 1)
		p.set(op, now, mesh.Terminating, pods)
		p.remove(op, later, pods)
	case ScaleDown:
		pods := op.model.take(e.choice, e.Pods)
		p.set(op, now, mesh.Terminating, pods)
		p.remove(op, later, pods)
	case ReadinessFlap:
		pods := []string{op.model.takeToFlap(e.choice)}
		p.set(op, now, mesh.NotReady, pods)
		p.set(op, later, mesh.Ready, pods)
	}
}

// startRollout starts a rollout of a service whose rollout ends within the
// steady time. When none does, none will later: the entry has ended.
func (p *planner) startRollout(e *entry, now time.Duration) error {
	left := float64(p.steady - now)
	idle := false
	m := p.choose(e, func(m *model) bool {
		able := !m.rolling && len(m.free) > 0
		idle = idle || able
		return able && float64(writesPerPod*len(m.free)-1)*e.pace.gap <= left
	})
	if m == nil && idle {
		return nil
	}
	if m == nil {
		e.skipped++
		e.pace.advance(1)
		p.at(e.pace.now(), func() error { return p.start(e) })
		return nil
	}
	times := make([]time.Duration, writesPerPod*len(m.free))
	for i := range times {
		times[i] = e.pace.now()
		e.pace.advance(1)
	}
	if times[len(times)-1] >= p.steady {
		return nil
	}
	e.started++
	p.ops++
	p.rollout(operation{id: p.ops, kind: e.Kind, model: m}, times)
	p.at(e.pace.now(), func() error { return p.start(e) })
	return nil
}

// rollout replaces the service's free pods one after the other, at the given
// times. The new pods are free as soon as they are ready.
func (p *planner) rollout(op operation, times []time.Duration) {
	old := op.model.free
	op.model.free, op.model.rolling = nil, true
	for i, pod := range old {
		t := times[writesPerPod*i:]
		pods := []string{pod}
		p.at(t[0], func() error {
			fresh, err := p.addNow(op, t[0], mesh.NotReady, 1)
			if err != nil {
				return err
			}
			p.set(op, t[1], mesh.Ready, fresh)
			return nil
		})
		p.set(op, t[2], mesh.Terminating, pods)
		p.remove(op, t[3], pods)
	}
	p.at(times[len(times)-1], func() error {
		op.model.rolling = false
		return nil
	})
}

// add plans a write that adds n fresh pods.
func (p *planner) add(op operation, at time.Duration, c mesh.Condition, n int) {
	p.at(at, func() error {
		_, err := p.addNow(op, at, c, n)
		return err
	})
}

// addNow makes the step of add, and returns the pods' names.
func (p *planner) addNow(op operation, at time.Duration, c mesh.Condition, n int) ([]string, error) {
	ch := change{action: actionAdd, condition: c, slice: op.model.Room(n)}
	var names []string
	for range n {
		pod, err := op.model.NewPod(p.nextPod)
		if err != nil {
			return nil, err
		}
		p.nextPod++
		ch.add = append(ch.add, pod)
		names = append(names, pod.Name)
	}
	if c == mesh.Ready {
		op.model.free = append(op.model.free, names...)
	}
	return names, p.emit(op, at, stepAdd, ch)
}

// set plans a write that gives pods a condition.
func (p *planner) set(op operation, at time.Duration, c mesh.Condition, pods []string) {
	name := stepTerminating
	switch c {
	case mesh.Ready:
		name = stepReady
	case mesh.NotReady:
		name = stepUnready
	case mesh.Terminating:
	}
	p.at(at, func() error {
		if c == mesh.Ready {
			op.model.free = append(op.model.free, pods...)
		}
		return p.emit(op, at, name, change{action: actionSet, condition: c, pods: pods})
	})
}

// remove plans a write that takes pods out.
func (p *planner) remove(op operation, at time.Duration, pods []string) {
	p.at(at, func() error {
		return p.emit(op, at, stepRemoval, change{action: actionRemove, pods: pods})
	})
}

// emit makes the change to the copy of the service and puts the step into the
// schedule. Called in the order of time.
func (p *planner) emit(op operation, at time.Duration, name string, ch change) error {
	creates := ch.action == actionAdd && ch.slice == op.model.NumSlices()
	done, err := ch.apply(op.model.Service)
	if err != nil {
		return err
	}
	p.out.Steps = append(p.out.Steps, Step{
		Seq:     uint64(len(p.out.Steps)) + 1,
		Op:      op.id,
		Kind:    op.kind,
		Name:    name,
		Service: op.model.Key(),
		Object:  op.model.SliceKey(done.Slice),
		Offset:  at,
		change:  ch,
		creates: creates,
	})
	return nil
}
