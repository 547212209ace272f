package churn

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/xdsbench/xdsbench/mesh"
)

// planner simulates the run in the order of time.
type planner struct {
	mesh    *mesh.Mesh
	steady  time.Duration
	entries []*entry
	// targets are the services that may be changed; models the ones touched so
	// far, as they are at the time reached.
	targets []*mesh.Service
	models  map[*mesh.Service]*model

	events  eventQueue
	ordered uint64
	ops     uint64
	nextPod int
	out     Schedule
}

// entry is one entry of the profile.
type entry struct {
	Spec

	path   string
	pace   *pace
	choice *rand.Rand

	started, skipped int
}

// model is a copy of a service, and which of its pods are free for an operation.
type model struct {
	*mesh.Service

	// free are the ready pods that no operation is working on.
	free    []string
	rolling bool
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

// start starts the operation of the entry that is due, and schedules the next one.
func (p *planner) start(e *entry) error {
	now := e.pace.now()
	if now >= p.steady {
		return nil
	}
	if e.Kind == RollingUpdate {
		return p.startRollout(e, now)
	}
	if m := p.chooseFor(e); m != nil {
		e.started++
		p.ops++
		p.operate(e, operation{id: p.ops, kind: e.Kind, model: m}, now)
	} else {
		e.skipped++
	}
	e.pace.advance(e.writes())
	p.at(e.pace.now(), func() error { return p.start(e) })
	return nil
}

// chooseFor returns a service that allows for the entry's operation, or nil; for a
// flap, if possible one with a pod that has not flapped.
func (p *planner) chooseFor(e *entry) *model {
	able := func(m *model) bool { return len(m.free) >= e.needs() }
	if e.Kind == ReadinessFlap {
		if m := p.choose(e, func(m *model) bool { return able(m) && len(m.neverFlapped()) > 0 }); m != nil {
			return m
		}
	}
	return p.choose(e, able)
}

// needs returns how many free pods a service must have for the operation: one to
// take out of use and one to stay.
func (e *entry) needs() int {
	if e.Kind == PodAdd || e.Kind == ScaleUp {
		return 0
	}
	return 2
}

// choose returns a service that allows for the operation, or nil.
func (p *planner) choose(e *entry, allows func(*model) bool) *model {
	if e.Target == hot {
		if m := p.model(p.targets[0]); allows(m) {
			return m
		}
		return nil
	}
	first := e.choice.IntN(len(p.targets))
	for i := range p.targets {
		if m := p.model(p.targets[(first+i)%len(p.targets)]); allows(m) {
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
		m = &model{Service: c, free: c.Ready(), flapped: map[string]bool{}}
		p.models[s] = m
	}
	return m
}

// take takes one free pod, and up to n-1 more of the same slice, but leaves one
// free.
func (m *model) take(rng *rand.Rand, n int) []string {
	first := m.free[rng.IntN(len(m.free))]
	slice, _ := m.SliceOf(first)
	taken := []string{first}
	for _, pod := range m.free {
		if len(taken) >= min(n, len(m.free)-1) {
			break
		}
		if s, _ := m.SliceOf(pod); s == slice && pod != first {
			taken = append(taken, pod)
		}
	}
	m.free = slices.DeleteFunc(m.free, func(pod string) bool { return slices.Contains(taken, pod) })
	return taken
}

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
		case e.started == 0 && e.skipped == 0 && e.Kind == RollingUpdate:
			p.warnf("%s: no rollout fits into %v at %v (4 writes per pod): raise the rate or lengthen the steady phase", e.path, p.steady, e.Rate)
		case e.started == 0 && e.skipped == 0:
			p.warnf("%s: no operation falls within %v at %v: raise the rate or lengthen the steady phase", e.path, p.steady, e.Rate)
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
