package resource

import (
	"cmp"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// mark is a mark in the content of a resource.
type mark struct {
	id         string
	generation int
}

// readMarks notes the marks in the content, each id once with its lowest generation.
func (d *Body) readMarks(b []byte) {
	for id, n := range event.Marks(b) {
		d.marks = append(d.marks, mark{id, n})
	}
	slices.SortFunc(d.marks, func(a, b mark) int {
		return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(a.generation, b.generation))
	})
	d.marks = slices.Clip(slices.CompactFunc(d.marks, func(a, b mark) bool { return a.id == b.id }))
}

// follows notes in a step what it changed of a followed type.
func (t *Table) follows(s *Step, typ xds.Type, from, next *State) {
	if !t.follow[typ] || from.Held == next.Held {
		return
	}
	s.States = changes(from.Held.Shown(typ), next.Held.Shown(typ))
}

// changes lists the states of next that before has not, and those of before that next
// lacks as absent. Both are sorted by name.
func changes(before, next []event.ResourceState) []event.ResourceState {
	var out []event.ResourceState
	i := 0
	gone := func(s event.ResourceState) {
		s.State = event.Absent
		out = append(out, s)
	}
	for _, s := range next {
		for ; i < len(before) && before[i].Name < s.Name; i++ {
			gone(before[i])
		}
		if i < len(before) && before[i].Name == s.Name {
			i++
			if before[i-1].State == s.State {
				continue
			}
		}
		out = append(out, s)
	}
	for ; i < len(before); i++ {
		gone(before[i])
	}
	return out
}

// Shown lists what a proxy that holds these resources of a followed type can see of
// them, sorted by name: the resources, or for route configurations their virtual hosts,
// and the marks in them, each in its lowest generation.
func (v *View) Shown(typ xds.Type) []event.ResourceState {
	v.showing.Do(func() {
		lowest := make(map[string]int)
		for _, it := range v.Items {
			if it.Body == nil {
				continue
			}
			if typ == xds.RDS {
				for _, host := range it.Body.hosts {
					v.shown = append(v.shown, event.ResourceState{Type: typ, Name: host, State: event.Present})
				}
			} else {
				v.shown = append(v.shown, event.ResourceState{Type: typ, Name: it.Name, State: it.Body.state})
			}
			for _, m := range it.Body.marks {
				if n, ok := lowest[m.id]; !ok || m.generation < n {
					lowest[m.id] = m.generation
				}
			}
		}
		for id, n := range lowest {
			v.shown = append(v.shown, event.ResourceState{Type: typ, Name: event.MarkName(id), State: event.MarkState(n)})
		}
		slices.SortFunc(v.shown, func(a, b event.ResourceState) int { return strings.Compare(a.Name, b.Name) })
		v.shown = slices.CompactFunc(v.shown, func(a, b event.ResourceState) bool { return a.Name == b.Name })
	})
	return v.shown
}
