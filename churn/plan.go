package churn

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/mesh"
)

// planner simulates the run in the order of time.
type planner struct {
	mesh    *mesh.Mesh
	steady  time.Duration
	entries []*entry
	// targets are the services that may be changed; models the ones touched so
	// far, as they are at the time reached.
	targets  []*mesh.Service
	headless []*mesh.Service
	models   map[*mesh.Service]*model

	events  eventQueue
	ordered uint64
	ops     uint64
	nextPod int
	// reserved services are prepared; services and namespaces are new.
	reserved, services, namespaces int
	// settled are the services and namespaces, by kind of config object, that have one.
	settled map[string]bool
	out     Schedule
	// based are the resources that are in the baseline, or were not there at first.
	based map[xds.Type]map[string]bool
}

// entry is one entry of the profile.
type entry struct {
	Spec

	trait  trait
	path   string
	pace   *pace
	choice *rand.Rand
	// targets are the services that it may change; weights their sums of 1/rank, for zipf.
	targets []*mesh.Service
	weights []float64

	// objects are those that the entry updates in turn.
	objects []*held

	started, skipped int
}

// model is a copy of a service, and which of its pods are free for an operation.
type model struct {
	*mesh.Service

	// free are the ready pods that no operation is working on.
	free    []string
	rolling bool
	// touched says that an operation was begun on it, or that it was prepared for one.
	touched bool
	// configured says that there is a config object about it.
	configured bool
	// port is the number that was given to a port of it last.
	port int32
	// flapped are the pods that were unready before. A second flap of a pod
	// gives states that its service had before, which a proxy far behind could
	// not tell apart.
	flapped map[string]bool
}

// run works through the events.
func (p *planner) run() error {
	for p.events.Len() > 0 {
		e, _ := heap.Pop(&p.events).(plannedEvent)
		if err := e.do(); err != nil {
			return err
		}
	}
	return nil
}

// at schedules a call for when the simulation reaches a time.
func (p *planner) at(t time.Duration, do func() error) {
	p.ordered++
	heap.Push(&p.events, plannedEvent{at: t, order: p.ordered, do: do})
}

// enter puts an entry among those that are planned.
func (p *planner) enter(e *entry) error {
	for _, s := range p.targets {
		if e.Namespace == "" || s.Namespace() == e.Namespace {
			e.targets = append(e.targets, s)
		}
	}
	if len(e.targets) == 0 {
		return fmt.Errorf("namespace: %q: no service of the mesh that could be changed is in it", e.Namespace)
	}
	if e.Target == zipf {
		sum := 0.0
		for i := range e.targets {
			sum += 1 / float64(i+1)
			e.weights = append(e.weights, sum)
		}
	}
	p.entries = append(p.entries, e)
	p.at(e.pace.now(), func() error { return p.start(e) })
	return nil
}

// start starts the operation of the entry that is due, and schedules the next one.
func (p *planner) start(e *entry) error {
	if e.pace.over() {
		return nil
	}
	if e.paced() {
		return p.startRollout(e, e.pace.now())
	}
	writes := e.trait.plan(p, e)
	if writes > 0 {
		e.started++
	} else {
		e.skipped++
		writes = e.trait.writes
	}
	e.pace.advance(writes)
	p.at(e.pace.now(), func() error { return p.start(e) })
	return nil
}

// begin begins an operation on a service.
func (p *planner) begin(e *entry, m *model) operation {
	p.ops++
	m.touched = true
	return operation{id: p.ops, kind: e.Kind, model: m}
}

// spare reports whether a service has the free pods that an operation needs.
func (e *entry) spare(m *model) bool { return len(m.free) >= e.trait.needs }

// choose returns a service that allows for the operation, or nil.
func (p *planner) choose(e *entry, allows func(*model) bool) *model {
	if e.Target == hot {
		if m := p.model(e.targets[0]); m.Exists() && allows(m) {
			return m
		}
		return nil
	}
	var first int
	if e.Target == zipf {
		last := len(e.weights) - 1
		first = min(sort.SearchFloat64s(e.weights, e.choice.Float64()*e.weights[last]), last)
	} else {
		first = e.choice.IntN(len(e.targets))
	}
	for i := range e.targets {
		if m := p.model(e.targets[(first+i)%len(e.targets)]); m.Exists() && allows(m) {
			return m
		}
	}
	return nil
}

// model returns the copy of a service at the time reached.
func (p *planner) model(s *mesh.Service) *model {
	m, ok := p.models[s]
	if !ok {
		c := s.Clone()
		m = &model{Service: c, free: c.Ready(), flapped: map[string]bool{}, configured: c.Fixed()}
		p.models[s] = m
	}
	return m
}

// take takes one free pod, and up to n-1 more of the same slice, but leaves one
// free.
func (m *model) take(rng *rand.Rand, n int) []string { return m.takeSome(rng, n, 1) }

// takeOn takes the free pods for which on holds, but leaves one free.
func (m *model) takeOn(on func(mesh.Pod) bool) []string {
	var taken, left []string
	for _, name := range m.free {
		if pod, _ := m.Pod(name); on(pod) {
			taken = append(taken, name)
		} else {
			left = append(left, name)
		}
	}
	if len(left) == 0 && len(taken) > 0 {
		taken, left = taken[1:], taken[:1]
	}
	m.free = left
	return taken
}

// zoneOf returns the zone of a node.
func zoneOf(n *corev1.Node) string { return n.Labels[corev1.LabelTopologyZone] }

// neverFlapped returns the free pods that have not flapped.
func (m *model) neverFlapped() []string {
	return slices.DeleteFunc(slices.Clone(m.free), func(pod string) bool { return m.flapped[pod] })
}

// takeToFlap takes one free pod, if possible one that has not flapped.
func (m *model) takeToFlap(rng *rand.Rand) string {
	from := m.neverFlapped()
	if len(from) == 0 {
		from = m.free
	}
	pod := from[rng.IntN(len(from))]
	m.flapped[pod] = true
	m.free = slices.DeleteFunc(m.free, func(p string) bool { return p == pod })
	return pod
}

// warn says what was skipped.
func (p *planner) warn() {
	for _, e := range p.entries {
		switch {
		case e.started == 0 && e.skipped == 0 && e.paced():
			p.warnf("%s: no rollout fits into %v at %v (4 writes per pod): raise the rate or lengthen the steady phase", e.path, p.steady, e.Rate)
		case e.started == 0 && e.skipped == 0:
			p.warnf("%s: no operation falls within %v at %v: raise the rate or lengthen the steady phase", e.path, e.pace.length(), e.Rate)
		case e.skipped > 0 && e.trait.lacks != "":
			p.warnf("%s: %d of %d operations were skipped, as %s", e.path, e.skipped, e.skipped+e.started, e.trait.lacks)
		case e.skipped > 0:
			p.warnf("%s: %d of %d operations were skipped, as no service could spare a pod and keep a usable endpoint: lower the rate, raise mesh.endpointsPerService or add pod-add churn",
				e.path, e.skipped, e.skipped+e.started)
		}
	}
}

func (p *planner) warnf(format string, args ...any) {
	p.out.Warnings = append(p.out.Warnings, fmt.Sprintf(format, args...))
}

// plannedEvent is something to be done at a time of the simulation.
type plannedEvent struct {
	at    time.Duration
	order uint64
	do    func() error
}

// eventQueue is a heap of events by time, those of one time in the order in
// which they were put in.
type eventQueue []plannedEvent

var _ heap.Interface = (*eventQueue)(nil)

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].order < q[j].order
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push is for package heap.
func (q *eventQueue) Push(x any) {
	e, _ := x.(plannedEvent)
	*q = append(*q, e)
}

// Pop is for package heap.
func (q *eventQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = plannedEvent{}
	*q = (*q)[:last]
	return e
}
