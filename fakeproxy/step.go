package fakeproxy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// incoming is one response as the state machine sees it.
type incoming struct {
	typ     xds.Type
	variant xds.Variant
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

// longestReason bounds the text of a NACK, in bytes, as Envoy does in
// Config::Utility::truncateGrpcStatusMessage.
const longestReason = 4096

func truncated(reason string) string {
	if len(reason) <= longestReason {
		return reason
	}
	return reason[:longestReason] + "...(truncated)"
}

// rejection says why a response must be rejected as a whole, as Envoy does
// when a resource does not decode or breaks its own validation rules.
func (in *incoming) rejection() string {
	var reasons []string
	length := 0
	for i, it := range in.items {
		if it.invalid == "" {
			continue
		}
		if length > longestReason {
			break
		}
		name := fmt.Sprintf("%q", it.name)
		if it.name == "" {
			name = fmt.Sprintf("number %d of the response", i+1)
		}
		reasons = append(reasons, truncated(fmt.Sprintf("%s resource %s: %s", in.typ, name, it.invalid)))
		length += len(reasons[len(reasons)-1])
	}
	return truncated(strings.Join(reasons, "; "))
}

// normalise sorts the items by name and deals with repeated names. It returns
// a reason to reject the response, and whether its order mattered.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#duplicate-resource-names
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

// newStep is a step that does nothing.
func (t *table) newStep() *step {
	return &step{rewarm: t.noNames, subscribe: t.noNames, unsubscribe: t.noNames, awaited: t.noNames}
}

// apply works out what a response does to n.
func (t *table) apply(n *node, in *incoming) (*step, *node) {
	s := t.newStep()
	if s.nack = in.rejection(); s.nack != "" {
		return s, n
	}
	if s.nack, s.once = in.normalise(); s.nack != "" {
		s.nack = truncated(s.nack)
		return s, n
	}
	if isWildcard(in.typ) {
		return s, t.applyWhole(s, n, in)
	}
	return s, t.applyNamed(s, n, in)
}

// applyWhole moves n by a response of a type that is subscribed to as a whole.
func (t *table) applyWhole(s *step, n *node, in *incoming) *node {
	if !isRoot(in.typ) && n.names.len() == 0 {
		s.outOfOrder = len(in.items)
		return n
	}
	merged, changed := s.merge(n.held.items, in)
	if in.typ == xds.CDS {
		s.rewarm = t.nameSet(endpointsOf(changed))
	}
	if in.heartbeats() {
		return t.node(n.names, t.view(merged), n.warming, n.expired)
	}
	return t.node(n.names, t.view(merged), t.noNames, t.noNames)
}

// endpointsOf lists the EDS resources that clusters name.
func endpointsOf(clusters []*item) []string {
	var names []string
	for _, it := range clusters {
		for _, c := range it.body.children {
			if c.of == xds.EDS {
				names = append(names, c.name)
			}
		}
	}
	return union(nil, names)
}

// merge merges sorted items into sorted held ones. A SotW response of such a
// type is the whole state: what it lacks is removed.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#deleting-resources
func (s *step) merge(held []*item, in *incoming) (merged, changed []*item) {
	merged = make([]*item, 0, max(len(held), len(in.items)))
	whole := in.variant == xds.SotW && !in.heartbeats()
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
func (s *step) note(typ xds.Type, it *item) {
	if it.ttl > 0 {
		s.ttls = append(s.ttls, ttl{name: it.name, of: typ, d: it.ttl})
	}
}

// rename moves n to a new set of names. A resource goes with its last parent.
// A changed cluster warms until its endpoints arrive anew; whatever else a
// parent names and is there already is shared at once.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#resource-warming
func (t *table) rename(n *node, typ xds.Type, names, rewarm *nameSet) (*step, *node) {
	s := t.newStep()
	s.subscribe = t.nameSet(difference(names.names, n.names.names))
	s.unsubscribe = t.nameSet(difference(n.names.names, names.names))
	s.awaited = t.union(s.subscribe, rewarm)
	warming := t.nameSet(union(difference(n.warming.names, s.unsubscribe.names), s.awaited.names))
	expired := t.nameSet(difference(n.expired.names, union(s.unsubscribe.names, s.awaited.names)))
	held := n.held.without(t, s.unsubscribe.names)
	if isWildcard(typ) && names.len() == 0 {
		held = t.empty
	}
	return s, t.node(names, held, warming, expired)
}

// applyNamed moves n by a response of a type that is subscribed to by name. A
// resource that was not asked for is ignored, and the response accepted; one
// that is said to be removed stays asked for.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#how-the-client-specifies-what-resources-to-return
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#knowing-when-a-requested-resource-does-not-exist
func (t *table) applyNamed(s *step, n *node, in *incoming) *node {
	var accepted []*item
	var answered []string
	for _, it := range in.items {
		if !n.names.has(it.name) {
			s.outOfOrder++
			continue
		}
		s.note(in.typ, it)
		if it.heartbeat() {
			continue
		}
		if old := n.held.find(it.name); old != nil && old.body == it.body {
			s.duplicates++
		}
		accepted = append(accepted, it)
		answered = append(answered, it.name)
		s.state(in.typ, it.name, it.body.state)
	}
	var gone []string
	for _, name := range in.removed {
		if n.names.has(name) {
			gone = append(gone, name)
			s.state(in.typ, name, 0)
		}
	}
	answered = union(answered, gone)
	return t.node(n.names, n.held.without(t, gone).with(t, accepted),
		t.nameSet(difference(n.warming.names, answered)),
		t.nameSet(difference(n.expired.names, answered)))
}

func (s *step) state(typ xds.Type, name string, f event.Fingerprint) {
	if typ == xds.EDS {
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
