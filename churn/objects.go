package churn

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/mesh"
)

// What operations on config objects do, behind the object's kind.
const (
	suffixAdd    = "-add"
	suffixUpdate = "-update"
	suffixRemove = "-remove"
)

const (
	// updatedObjects is how many objects an entry updates in turn.
	updatedObjects = 4
	// noObject is the generation of an object that is not there; firstObject that of one
	// that is there from the start, or is added. Some of generation 0 say what holds without
	// them, so it is none of these.
	noObject    = -1
	firstObject = 1
)

// objectKinds lists the kinds of operation on config objects.
func objectKinds() []string {
	var out []string
	for _, kind := range mesh.ConfigKinds() {
		out = append(out, string(kind)+suffixAdd, string(kind)+suffixUpdate, string(kind)+suffixRemove)
	}
	return out
}

// ofObject reports whether a kind of operation is one on config objects, and which.
func ofObject(kind string) (object mesh.ConfigKind, what string, ok bool) {
	for _, object := range mesh.ConfigKinds() {
		if what, ok := strings.CutPrefix(kind, string(object)); ok {
			return object, what, true
		}
	}
	return "", "", false
}

// held is a config object of the plan.
type held struct {
	kind       mesh.ConfigKind
	model      *model
	generation int
	// busy says that what was done to it is to be undone.
	busy bool
}

// changeObject adds, updates or removes a config object about a service.
func (p *planner) changeObject(e *entry) int {
	_, what, _ := ofObject(e.Kind)
	h := p.turn(e, what)
	if h == nil {
		return 0
	}
	from, to := h.generation, max(h.generation+1, firstObject)
	name := map[string]string{suffixAdd: stepAdd, suffixUpdate: stepUpdate, suffixRemove: stepRemoval}[what]
	if what == suffixRemove {
		to = noObject
	}
	op, now := p.begin(e, h.model), e.pace.now()
	h.generation = to
	p.at(now, func() error { return p.emit(op, now, name, objecting{kind: h.kind, from: from, to: to}) })
	if e.Hold.Duration == 0 {
		return 1
	}
	h.busy = true
	back := now + e.Hold.Duration
	p.at(back, func() error {
		h.busy, h.generation = false, from
		return p.emit(op, back, stepUndo, objecting{kind: h.kind, from: to, to: from})
	})
	return 2
}

// turn returns the object that is to be changed next: one that is there, or not, as the
// operation needs it, and that may be new to the plan; nil if there is none.
func (p *planner) turn(e *entry, what string) *held {
	able := func(h *held) bool { return !h.busy && (h.generation == noObject) == (what == suffixAdd) }
	if what != suffixUpdate || len(e.objects) < updatedObjects {
		if h := p.object(e, what != suffixAdd); h != nil {
			e.objects = append(e.objects, h)
			return h
		}
	}
	for i, h := range e.objects {
		if able(h) {
			e.objects = append(append(e.objects[:i:i], e.objects[i+1:]...), h)
			return h
		}
	}
	return nil
}

// object makes an object about a service, or its namespace, that has none of the kind;
// nil if there is no such service.
func (p *planner) object(e *entry, there bool) *held {
	kind, _, _ := ofObject(e.Kind)
	slot := func(m *model) string {
		if kind.OfNamespace() {
			return string(kind) + " " + m.Namespace()
		}
		return string(kind) + " " + m.Key()
	}
	m := p.choose(e, func(m *model) bool {
		_, err := p.mesh.ConfigObject(kind, m.Service, 0)
		return err == nil && m.idle() && !p.mesh.HasConfig(kind, m.Service) && !p.settled[slot(m)]
	})
	if m == nil {
		return nil
	}
	p.settled[slot(m)], m.configured = true, true
	h := &held{kind: kind, model: m, generation: noObject}
	if there {
		h.generation = firstObject
		p.out.prepared = append(p.out.prepared, prepared{service: m.Key(), keep: -1, object: kind})
	}
	for _, r := range shown(p.mesh, m.Service, kind, h.generation) {
		if r.Type == xds.EDS {
			p.out.external[r.Name] = r.State
		}
		// What is not there yet is nothing that proxies have to hold.
		if r.State != event.Absent && !p.based[r.Type][r.Name] {
			p.know(r)
			p.out.baseline = append(p.out.baseline, r)
		}
	}
	return h
}

// shown returns what proxies show with an object in a generation.
func shown(m *mesh.Mesh, s *mesh.Service, kind mesh.ConfigKind, generation int) []event.Expected {
	c, err := m.ConfigObject(kind, s, max(generation, 0))
	switch {
	case err != nil:
		return nil
	case generation == noObject:
		return c.Gone
	default:
		return c.States
	}
}

// objecting brings the config object of a service from one generation to another.
type objecting struct {
	ofService

	kind     mesh.ConfigKind
	from, to int
}

func (c objecting) apply(m *mesh.Mesh, s *mesh.Service) (written, error) {
	config, err := m.ConfigObject(c.kind, s, max(c.to, 0))
	if err != nil {
		return written{}, err
	}
	key := config.Object.GetNamespace() + "/" + config.Object.GetName()
	out := written{object: object{string(c.kind), key, func() runtime.Object {
		if c.to == noObject {
			return nil
		}
		return config.Object
	}}}
	before := map[event.ResourceState]bool{}
	for _, r := range shown(m, s, c.kind, c.from) {
		before[r.ResourceState] = true
	}
	for _, r := range shown(m, s, c.kind, c.to) {
		if !before[r.ResourceState] {
			out.states = append(out.states, r)
		}
	}
	return out, nil
}
