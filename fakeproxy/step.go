package fakeproxy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/event"
)

// incoming is one response as the state machine sees it.
type incoming struct {
	typ     event.Type
	variant event.Variant
	items   []*item
	removed []string
	// lastWins takes the last of two resources with one name (SotW only).
	lastWins bool
}

// heartbeats reports whether a response does nothing but refresh TTLs. Such a
// one is no update, not even in SotW: what it does not name stays.
func (in *incoming) heartbeats() bool {
	return len(in.items) > 0 && !slices.ContainsFunc(in.items, func(it *item) bool { return !it.heartbeat() })
}

// rejection says why a response must be rejected as a whole, as Envoy does
// when a resource does not decode or breaks its own validation rules.
func (in *incoming) rejection() string {
	var reasons []string
	for i, it := range in.items {
		if it.invalid == "" {
			continue
		}
		name := fmt.Sprintf("%q", it.name)
		if it.name == "" {
			name = fmt.Sprintf("number %d of the response", i+1)
		}
		reasons = append(reasons, fmt.Sprintf("%s resource %s: %s", in.typ, name, it.invalid))
	}
	return strings.Join(reasons, "; ")
}

// normalise sorts the items by name and deals with repeated names. It returns
// a reason to reject the response, and whether its order mattered.
func (in *incoming) normalise() (reason string, ordered bool) {
	slices.SortStableFunc(in.items, func(a, b *item) int { return strings.Compare(a.name, b.name) })
	slices.Sort(in.removed)
	kept := in.items[:0]
	for i, it := range in.items {
		if i > 0 && kept[len(kept)-1].name == it.name {
			if !in.lastWins {
				return fmt.Sprintf("%s resource %q: is in the response twice", in.typ, it.name), false
			}
			kept[len(kept)-1] = it
			ordered = true
			continue
		}
		kept = append(kept, it)
	}
	in.items = kept
	for _, it := range in.items {
		if _, both := slices.BinarySearch(in.removed, it.name); both {
			return fmt.Sprintf("%s resource %q: is both added and removed by the response", in.typ, it.name), false
		}
	}
	return "", ordered
}

// apply works out what a response does to n.
func (t *table) apply(n *node, in *incoming) (*step, *node) {
	s := &step{resources: len(in.items), subscribe: t.noNames, unsubscribe: t.noNames, awaited: t.noNames}
	if s.nack = in.rejection(); s.nack != "" {
		return s, n
	}
	if s.nack, s.once = in.normalise(); s.nack != "" {
		return s, n
	}
	if isRoot(in.typ) {
		return s, t.applyParents(s, n, in)
	}
	return s, t.applyChildren(s, n, in)
}

// applyParents moves n by a response of clusters or listeners.
func (t *table) applyParents(s *step, n *node, in *incoming) *node {
	merged, changed := s.merge(n.parents.items, in)
	parents := t.view(merged)
	return t.withParents(s, n, parents, in.typ, changed)
}

// merge merges sorted items into sorted held ones. A SotW response of a parent
// type is the whole state: what it lacks is removed.
func (s *step) merge(held []*item, in *incoming) (merged, changed []*item) {
	merged = make([]*item, 0, max(len(held), len(in.items)))
	whole := in.variant == event.SotW && !in.heartbeats()
	i := 0
	keepUntil := func(name string, last bool) {
		for ; i < len(held) && (last || held[i].name < name); i++ {
			if _, gone := slices.BinarySearch(in.removed, held[i].name); !whole && !gone {
				merged = append(merged, held[i])
			}
		}
	}
	for _, it := range in.items {
		keepUntil(it.name, false)
		var old *item
		if i < len(held) && held[i].name == it.name {
			old = held[i]
			i++
		}
		s.note(in.typ, it)
		switch {
		case it.heartbeat():
			if old != nil {
				merged = append(merged, old)
			}
		case old != nil && old.body == it.body:
			s.duplicates++
			merged = append(merged, it)
		default:
			merged = append(merged, it)
			changed = append(changed, it)
		}
	}
	keepUntil("", true)
	return merged, changed
}

// note keeps the TTL of an item.
func (s *step) note(typ event.Type, it *item) {
	if it.ttl > 0 {
		s.ttls = append(s.ttls, ttl{name: it.name, of: typ, d: it.ttl})
	}
}

// withParents moves n to a new set of parents. A child goes with its last
// parent; a changed cluster warms until its endpoints arrive anew, while a
// listener shares the routes that are there already.
func (t *table) withParents(s *step, n *node, parents *view, typ event.Type, changed []*item) *node {
	before, after := n.names(), parents.children
	s.subscribe = t.nameSet(difference(after.names, before.names))
	s.unsubscribe = t.nameSet(difference(before.names, after.names))
	s.awaited = s.subscribe
	if typ == event.CDS {
		var awaited []string
		for _, it := range changed {
			awaited = append(awaited, it.body.children...)
		}
		s.awaited = t.nameSet(union(s.subscribe.names, awaited))
	}
	warming := t.nameSet(union(difference(n.warming.names, s.unsubscribe.names), s.awaited.names))
	expired := t.nameSet(difference(n.expired.names, union(s.unsubscribe.names, s.awaited.names)))
	return t.node(parents, n.children.without(t, s.unsubscribe.names), warming, expired)
}

// applyChildren moves n by a response of endpoints or routes.
func (t *table) applyChildren(s *step, n *node, in *incoming) *node {
	var accepted []*item
	var answered []string
	for _, it := range in.items {
		if !n.names().has(it.name) {
			s.outOfOrder++
			continue
		}
		s.note(in.typ, it)
		if it.heartbeat() {
			continue
		}
		if old := n.children.find(it.name); old != nil && old.body == it.body {
			s.duplicates++
		}
		accepted = append(accepted, it)
		answered = append(answered, it.name)
		s.state(in.typ, it.name, it.body.state)
	}
	var gone []string
	for _, name := range in.removed {
		if n.names().has(name) {
			gone = append(gone, name)
			s.state(in.typ, name, 0)
		}
	}
	answered = union(answered, gone)
	children := n.children.without(t, gone).with(t, accepted)
	return t.node(n.parents, children,
		t.nameSet(difference(n.warming.names, answered)),
		t.nameSet(difference(n.expired.names, answered)))
}

func (s *step) state(typ event.Type, name string, f event.Fingerprint) {
	if typ == event.EDS {
		s.states = append(s.states, event.ClusterState{Cluster: name, State: f})
	}
}

// with returns v with sorted items added or replaced.
func (v *view) with(t *table, items []*item) *view {
	if len(items) == 0 {
		return v
	}
	merged := make([]*item, 0, len(v.items)+len(items))
	i := 0
	for _, it := range items {
		for ; i < len(v.items) && v.items[i].name < it.name; i++ {
			merged = append(merged, v.items[i])
		}
		if i < len(v.items) && v.items[i].name == it.name {
			i++
		}
		merged = append(merged, it)
	}
	return t.view(slices.Clip(append(merged, v.items[i:]...)))
}

// difference returns the sorted elements of a that are not in b.
func difference[E cmp.Ordered](a, b []E) []E {
	if len(a) == 0 || len(b) == 0 {
		return a
	}
	var out []E
	j := 0
	for _, e := range a {
		for j < len(b) && b[j] < e {
			j++
		}
		if j == len(b) || b[j] != e {
			out = append(out, e)
		}
	}
	return out
}

// union returns the sorted elements of a and b, which need not be sorted.
func union[E cmp.Ordered](a, b []E) []E {
	if len(b) == 0 && slices.IsSorted(a) {
		return a
	}
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
