package churn

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xdsbench/xdsbench/mesh"
)

// What operations on config objects do, behind the object's kind.
const (
	suffixAdd    = "-add"
	suffixUpdate = "-update"
	suffixRemove = "-remove"
)

// updatedObjects is how many objects an entry updates in turn.
const updatedObjects = 4

// objectKinds lists the kinds of operation on config objects.
func objectKinds() []string {
	var out []string
	for _, kind := range mesh.ObjectKinds() {
		out = append(out, kind+suffixAdd, kind+suffixUpdate, kind+suffixRemove)
	}
	return out
}

// ofObject reports whether a kind of operation is one on config objects, and which.
func ofObject(kind string) (object, what string, ok bool) {
	at := strings.LastIndexByte(kind, '-')
	if at < 0 {
		return "", "", false
	}
	return kind[:at], kind[at:], slices.Contains(mesh.ObjectKinds(), kind[:at])
}

// held is a config object of the plan.
type held struct {
	mesh.Object

	model      *model
	generation int
}

// changeObject adds, updates or removes a config object about a service.
func (p *planner) changeObject(e *entry) int {
	_, what, _ := ofObject(e.Kind)
	var h *held
	name := stepAdd
	switch what {
	case suffixAdd:
		h = p.object(e, false)
	case suffixRemove:
		h = p.object(e, true)
		name = stepRemoval
	default:
		name = stepUpdate
		if len(e.objects) < updatedObjects {
			if h = p.object(e, true); h != nil {
				e.objects = append(e.objects, h)
			}
		}
		if h == nil && len(e.objects) > 0 {
			h = e.objects[0]
			e.objects = append(e.objects[1:], h)
		}
	}
	if h == nil {
		return 0
	}
	to := h.generation + 1
	if what == suffixRemove {
		to = 0
	}
	op, now, from := p.begin(e, h.model), e.pace.now(), h.generation
	h.generation = to
	p.at(now, func() error { return p.emit(op, now, name, objecting{object: h.Object, from: from, to: to}) })
	return 1
}

// object makes an object about a service that has none of its kind; nil if there is no
// such service. Objects that hold for a namespace are of one service each all the same.
func (p *planner) object(e *entry, there bool) *held {
	kind, _, _ := ofObject(e.Kind)
	oneEach := kind == "destination-rule" || kind == "virtual-service"
	oneOfNamespace := kind == "sidecar" || kind == "peer-authentication"
	m := p.choose(e, func(m *model) bool {
		return (!oneEach || !m.objects[kind]) && (!oneOfNamespace || !p.settled[m.Namespace()+" "+kind]) && m.idle()
	})
	if m == nil {
		return nil
	}
	if m.objects == nil {
		m.objects = map[string]bool{}
	}
	m.objects[kind], p.settled[m.Namespace()+" "+kind] = true, true
	p.objects++
	h := &held{model: m, Object: mesh.Object{
		Kind: kind, Namespace: m.Namespace(), Name: kind + "-" + strconv.Itoa(p.objects), Number: p.objects,
	}}
	if there {
		h.generation = 1
		p.out.prepared = append(p.out.prepared, prepared{service: m.Key(), keep: -1, object: h.Object})
	}
	for _, r := range m.Shown(h.Object, h.generation) {
		if !p.based[r.Type][r.Name] {
			p.know(r)
			p.out.baseline = append(p.out.baseline, r)
		}
	}
	return h
}

// objecting brings a config object from one generation to another; 0 is none.
type objecting struct {
	ofService

	object   mesh.Object
	from, to int
}

func (c objecting) apply(s *mesh.Service) (written, error) {
	return written{object{c.object.Kind, c.object.Key(), func() runtime.Object {
		if c.to == 0 {
			return nil
		}
		return s.Manifest(c.object, c.to)
	}}, s.Changed(c.object, c.from, c.to)}, nil
}
