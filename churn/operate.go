package churn

import (
	"slices"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/mesh"
)

// Names of steps.
const (
	stepAdd         = "add"
	stepReady       = "ready"
	stepUnready     = "unready"
	stepTerminating = "terminating"
	stepRemoval     = "removal"
	stepCrash       = "crash"
	stepUpdate      = "update"
	stepCopy        = "copy"
	stepDrop        = "drop"
	stepService     = "service"
	stepEndpoints   = "endpoints"
	stepNamespace   = "namespace"
	stepUndo        = "undo"
)

// operation is one operation under way.
type operation struct {
	id    uint64
	kind  string
	model *model
}

// podAdd adds ready pods: one, or as many as a scale-up has.
func (p *planner) podAdd(e *entry) int {
	m := p.choose(e, e.spare)
	if m == nil {
		return 0
	}
	n := 1
	if e.Kind == ScaleUp {
		n = e.Pods
	}
	p.add(p.begin(e, m), e.pace.now(), n)
	return 1
}

// podDelete drains and removes pods of one slice: one, or as many as a scale-down has.
func (p *planner) podDelete(e *entry) int {
	m := p.choose(e, e.spare)
	if m == nil {
		return 0
	}
	n := 1
	if e.Kind == ScaleDown {
		n = e.Pods
	}
	p.drain(e, p.begin(e, m), e.pace.now(), m.take(e.choice, n))
	return 2
}

// podCrash removes a pod at once.
func (p *planner) podCrash(e *entry) int {
	m := p.choose(e, e.spare)
	if m == nil {
		return 0
	}
	p.remove(p.begin(e, m), e.pace.now(), stepCrash, m.take(e.choice, 1))
	return 1
}

// flap makes a pod unready for a while, if possible one that has not flapped.
func (p *planner) flap(e *entry) int {
	m := p.choose(e, func(m *model) bool { return e.spare(m) && len(m.neverFlapped()) > 0 })
	if m == nil {
		m = p.choose(e, e.spare)
	}
	if m == nil {
		return 0
	}
	op, pods := p.begin(e, m), []string{m.takeToFlap(e.choice)}
	p.set(op, e.pace.now(), mesh.NotReady, pods)
	p.set(op, e.pace.now()+e.Delay.Duration, mesh.Ready, pods)
	return 2
}

// firstEndpoint gives a service without endpoints its first one.
func (p *planner) firstEndpoint(e *entry) int {
	empty := func(m *model) bool { return m.Endpoints() == 0 && !m.rolling }
	m := p.choose(e, empty)
	if m == nil {
		m = p.prepare(e, prepared{keep: 0}, func(m *model) bool { return len(m.free) > 0 })
	}
	if m == nil {
		return 0
	}
	op, now := p.begin(e, m), e.pace.now()
	m.rolling = true
	p.add(op, now, 1)
	if e.Hold.Duration == 0 {
		p.at(now, func() error { m.rolling = false; return nil })
		return 1
	}
	p.at(now+e.Hold.Duration, func() error {
		m.rolling = false
		pods := m.free
		m.free = nil
		for _, group := range m.bySlice(pods) {
			p.drain(e, op, now+e.Hold.Duration, group)
		}
		return nil
	})
	return 3
}

// lastEndpoint takes from a service the only endpoint that it has.
func (p *planner) lastEndpoint(e *entry) int {
	m := p.choose(e, func(m *model) bool { return m.Endpoints() == 1 && len(m.free) == 1 })
	if m == nil {
		m = p.prepare(e, prepared{keep: 1}, func(m *model) bool { return len(m.free) > 1 })
	}
	if m == nil {
		return 0
	}
	op, now := p.begin(e, m), e.pace.now()
	pods := m.free
	m.free = nil
	p.drain(e, op, now, pods)
	if e.Hold.Duration == 0 {
		return 2
	}
	p.add(op, now+max(e.Hold.Duration, e.Delay.Duration), 1)
	return 3
}

// noopUpdate changes an annotation of a slice.
func (p *planner) noopUpdate(e *entry) int {
	m := p.choose(e, func(m *model) bool { return m.NumSlices() > 0 })
	if m == nil {
		return 0
	}
	op, now, slice := p.begin(e, m), e.pace.now(), e.choice.IntN(m.NumSlices())
	p.at(now, func() error { return p.emit(op, now, stepUpdate, slicing{what: touch, slice: slice}) })
	return 1
}

// sliceRepack moves pods to another slice: they are listed there before they are no
// longer listed here.
func (p *planner) sliceRepack(e *entry) int {
	m := p.choose(e, e.spare)
	if m == nil {
		return 0
	}
	op, now := p.begin(e, m), e.pace.now()
	pods := m.takeSome(e.choice, e.Pods, 0)
	from, _ := m.SliceOf(pods[0])
	to := m.RoomBeside(from, len(pods))
	p.at(now, func() error { return p.emit(op, now, stepCopy, slicing{what: copyPods, slice: to, pods: pods}) })
	p.at(now, func() error {
		m.free = append(m.free, pods...)
		return p.emit(op, now, stepDrop, slicing{what: dropPods, slice: from, pods: pods})
	})
	return 2
}

// endpointPort gives a port of a slice with ready pods a number that it never had.
func (p *planner) endpointPort(e *entry) int {
	m := p.choose(e, e.spare)
	if m == nil {
		return 0
	}
	op, now := p.begin(e, m), e.pace.now()
	slice, _ := m.SliceOf(m.free[e.choice.IntN(len(m.free))])
	number := m.freshPort()
	p.at(now, func() error {
		return p.emit(op, now, stepUpdate, slicing{what: setPort, slice: slice, number: number})
	})
	return 1
}

// freshPort returns a port number that the service has not had.
func (m *model) freshPort() int32 {
	const first, last = 20_000, 60_000
	if m.port++; m.port < first || m.port > last {
		m.port = first
	}
	return m.port
}

// bySlice groups pods by their slice, in order.
func (m *model) bySlice(pods []string) [][]string {
	var groups [][]string
	at := map[int]int{}
	for _, pod := range pods {
		slice, _ := m.SliceOf(pod)
		i, ok := at[slice]
		if !ok {
			i = len(groups)
			at[slice] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], pod)
	}
	return groups
}

// add plans a write that adds n fresh, ready pods.
func (p *planner) add(op operation, at time.Duration, n int) {
	p.at(at, func() error {
		_, err := p.addNow(op, at, mesh.Ready, n)
		return err
	})
}

// addNow makes the step of add, and returns the pods' names.
func (p *planner) addNow(op operation, at time.Duration, c mesh.Condition, n int) ([]string, error) {
	ch := adding{condition: c, slice: op.model.Room(n)}
	var names []string
	for range n {
		pod, err := op.model.NewPod(p.nextPod)
		if err != nil {
			return nil, err
		}
		p.nextPod++
		ch.pods = append(ch.pods, pod)
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
		return p.emit(op, at, name, setting{condition: c, pods: pods})
	})
}

// drain plans the two writes by which pods of one slice go.
func (p *planner) drain(e *entry, op operation, at time.Duration, pods []string) {
	p.set(op, at, mesh.Terminating, pods)
	p.remove(op, at+e.Delay.Duration, stepRemoval, pods)
}

// remove plans a write that takes pods out.
func (p *planner) remove(op operation, at time.Duration, name string, pods []string) {
	p.at(at, func() error { return p.emit(op, at, name, removing{pods: pods}) })
}

// emit makes the change to the copy of the service and puts the step into the
// schedule. Called in the order of time.
func (p *planner) emit(op operation, at time.Duration, name string, ch change) error {
	s := op.model.Service
	step := Step{
		Seq:     uint64(len(p.out.Steps)) + 1,
		Op:      op.id,
		Kind:    op.kind,
		Name:    name,
		Service: s.Key(),
		Offset:  at,
		change:  ch,
		unit:    s.Key(),
	}
	was, slices := s.Exists(), s.NumSlices()
	switch c := ch.(type) {
	case adding:
		step.joins = c.pods
		if op.kind == namespaceAdd {
			step.account = s.Account().Name
		}
		step.creates = c.slice == slices || op.kind == serviceAdd || op.kind == namespaceAdd
	case slicing:
		step.creates = c.slice == slices
	case removing:
		for _, name := range c.pods {
			if pod, ok := s.Pod(name); ok {
				step.leaves = append(step.leaves, pod)
			}
		}
	case serving:
		step.creates = !was
		p.base(s)
		if c.what == deleteService {
			step.leaves, step.swept = podsOf(s), slicesOf(s)
		}
	case objecting:
		step.creates = c.from == noObject
		step.unit = string(c.kind) + " " + s.Key()
	case namespacing:
		step.creates = !c.gone
	}
	done, err := ch.apply(p.mesh, s)
	if err != nil {
		return err
	}
	step.Object = done.key
	p.note(done.states)
	p.out.Steps = append(p.out.Steps, step)
	return nil
}

func podsOf(s *mesh.Service) []mesh.Pod {
	var out []mesh.Pod
	for _, object := range s.Pods() {
		if pod, ok := s.Pod(object.Name); ok {
			out = append(out, pod)
		}
	}
	return out
}

func slicesOf(s *mesh.Service) []string {
	var out []string
	for i := range s.NumSlices() {
		out = append(out, s.SliceKey(i))
	}
	return out
}

// base puts what a service has before it is first changed into the baseline, if
// proxies see it otherwise than by its endpoints.
func (p *planner) base(s *mesh.Service) {
	for _, r := range s.Resources() {
		if r.Type == xds.EDS || p.based[r.Type][r.Name] {
			continue
		}
		p.know(r)
		p.out.baseline = append(p.out.baseline, r)
	}
}

// note takes note of states that a write gives.
func (p *planner) note(states []event.Expected) {
	for _, r := range states {
		p.out.types[r.Type] = true
		if _, ok := p.out.external[r.Name]; ok && r.Type == xds.EDS {
			p.out.external[r.Name] = r.State
		}
		p.know(r)
	}
}

func (p *planner) know(r event.Expected) {
	if p.based[r.Type] == nil {
		p.based[r.Type] = map[string]bool{}
	}
	p.based[r.Type][r.Name] = true
}

// takeSome takes one free pod, and up to n-1 more of the same slice, but leaves some
// free.
func (m *model) takeSome(rng interface{ IntN(int) int }, n, leave int) []string {
	first := m.free[rng.IntN(len(m.free))]
	slice, _ := m.SliceOf(first)
	taken := []string{first}
	for _, pod := range m.free {
		if len(taken) >= min(n, len(m.free)-leave) {
			break
		}
		if s, _ := m.SliceOf(pod); s == slice && pod != first {
			taken = append(taken, pod)
		}
	}
	m.free = slices.DeleteFunc(m.free, func(pod string) bool { return slices.Contains(taken, pod) })
	return taken
}
