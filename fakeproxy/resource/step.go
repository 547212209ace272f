package resource

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
	items   []*Item
	removed []string
	// lastWins takes the last of two resources with one name (SotW only).
	lastWins bool
}

// heartbeats reports whether a response does nothing but refresh TTLs. Such a
// one is no update, not even in SotW: what it does not name stays.
func (in *incoming) heartbeats() bool {
	return len(in.items) > 0 && !slices.ContainsFunc(in.items, func(it *Item) bool { return !it.heartbeat() })
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
		name := fmt.Sprintf("%q", it.Name)
		if it.Name == "" {
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
	slices.SortStableFunc(in.items, func(a, b *Item) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(in.removed)
	kept := in.items[:0]
	for i, it := range in.items {
		if i > 0 && kept[len(kept)-1].Name == it.Name {
			if !in.lastWins {
				return fmt.Sprintf("%s resource %q: is in the response twice", in.typ, it.Name), false
			}
			kept[len(kept)-1] = it
			ordered = true
			continue
		}
		kept = append(kept, it)
	}
	in.items = kept
	for _, it := range in.items {
		if _, both := slices.BinarySearch(in.removed, it.Name); both {
			return fmt.Sprintf("%s resource %q: is both added and removed by the response", in.typ, it.Name), false
		}
	}
	return "", ordered
}

// newStep is a step that does nothing.
func (t *Table) newStep() *Step {
	return &Step{Rewarm: t.NoNames, Subscribe: t.NoNames, Unsubscribe: t.NoNames, Awaited: t.NoNames}
}

// apply works out what a response does to from.
func (t *Table) apply(from *State, in *incoming) (*Step, *State) {
	s := t.newStep()
	if s.Nack = in.rejection(); s.Nack != "" {
		return s, from
	}
	if s.Nack, s.once = in.normalise(); s.Nack != "" {
		s.Nack = truncated(s.Nack)
		return s, from
	}
	if in.typ.IsWildcard() {
		return s, t.applyWhole(s, from, in)
	}
	return s, t.applyNamed(s, from, in)
}

// applyWhole moves a state on by a response of a type that is subscribed to as a whole.
func (t *Table) applyWhole(s *Step, from *State, in *incoming) *State {
	if !in.typ.IsRoot() && from.Names.Len() == 0 {
		s.OutOfOrder = len(in.items)
		return from
	}
	merged, changed := s.merge(from.Held.Items, in)
	if in.typ == xds.CDS {
		s.Rewarm = t.nameSet(endpointsOf(changed))
	}
	if in.heartbeats() {
		return t.state(from.Names, t.view(merged), from.Warming, from.Expired)
	}
	return t.state(from.Names, t.view(merged), t.NoNames, t.NoNames)
}

// endpointsOf lists the EDS resources that clusters name.
func endpointsOf(clusters []*Item) []string {
	var names []string
	for _, it := range clusters {
		for _, c := range it.Body.Children {
			if c.Type == xds.EDS {
				names = append(names, c.Name)
			}
		}
	}
	return union(nil, names)
}

// merge merges sorted items into sorted held ones. A SotW response of such a
// type is the whole state: what it lacks is removed.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#deleting-resources
func (s *Step) merge(held []*Item, in *incoming) (merged, changed []*Item) {
	merged = make([]*Item, 0, max(len(held), len(in.items)))
	whole := in.variant == xds.SotW && !in.heartbeats()
	i := 0
	keepUntil := func(name string, last bool) {
		for ; i < len(held) && (last || held[i].Name < name); i++ {
			if _, gone := slices.BinarySearch(in.removed, held[i].Name); whole || gone {
				s.ChangedBytes += len(held[i].Name)
			} else {
				merged = append(merged, held[i])
			}
		}
	}
	for _, it := range in.items {
		keepUntil(it.Name, false)
		var old *Item
		if i < len(held) && held[i].Name == it.Name {
			old = held[i]
			i++
		}
		s.note(in.typ, it)
		switch {
		case it.heartbeat():
			if old != nil {
				merged = append(merged, old)
			}
		case old != nil && old.Body == it.Body:
			s.Duplicates++
			merged = append(merged, it)
		default:
			s.ChangedBytes += it.Body.Size
			merged = append(merged, it)
			changed = append(changed, it)
		}
	}
	keepUntil("", true)
	return merged, changed
}

// note keeps the TTL of an item.
func (s *Step) note(typ xds.Type, it *Item) {
	if it.TTL > 0 {
		s.TTLs = append(s.TTLs, TTL{Name: it.Name, Type: typ, For: it.TTL})
	}
}

// rename moves a state to a new set of names. A resource goes with its last parent.
// A changed cluster warms until its endpoints arrive anew; whatever else a
// parent names and is there already is shared at once.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#resource-warming
func (t *Table) rename(from *State, typ xds.Type, names, rewarm *NameSet) (*Step, *State) {
	s := t.newStep()
	s.Subscribe = t.nameSet(difference(names.Names, from.Names.Names))
	s.Unsubscribe = t.nameSet(difference(from.Names.Names, names.Names))
	s.Awaited = t.Union(s.Subscribe, rewarm)
	warming := t.nameSet(union(difference(from.Warming.Names, s.Unsubscribe.Names), s.Awaited.Names))
	expired := t.nameSet(difference(from.Expired.Names, union(s.Unsubscribe.Names, s.Awaited.Names)))
	held := from.Held.without(t, s.Unsubscribe.Names)
	if typ.IsWildcard() && names.Len() == 0 {
		held = t.empty
	}
	return s, t.state(names, held, warming, expired)
}

// applyNamed moves a state on by a response of a type that is subscribed to by name. A
// resource that was not asked for is ignored, and the response accepted; one
// that is said to be removed stays asked for.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#how-the-client-specifies-what-resources-to-return
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#knowing-when-a-requested-resource-does-not-exist
func (t *Table) applyNamed(s *Step, from *State, in *incoming) *State {
	var accepted []*Item
	var answered []string
	for _, it := range in.items {
		if !from.Names.Has(it.Name) {
			s.OutOfOrder++
			continue
		}
		s.note(in.typ, it)
		if it.heartbeat() {
			continue
		}
		if old := from.Held.Find(it.Name); old != nil && old.Body == it.Body {
			s.Duplicates++
		} else {
			s.ChangedBytes += it.Body.Size
		}
		accepted = append(accepted, it)
		answered = append(answered, it.Name)
		s.state(in.typ, it.Name, it.Body.State)
	}
	var gone []string
	for _, name := range in.removed {
		if from.Names.Has(name) {
			gone = append(gone, name)
			if from.Held.Find(name) != nil {
				s.ChangedBytes += len(name)
			}
			s.state(in.typ, name, 0)
		}
	}
	answered = union(answered, gone)
	return t.state(from.Names, from.Held.without(t, gone).with(t, accepted),
		t.nameSet(difference(from.Warming.Names, answered)),
		t.nameSet(difference(from.Expired.Names, answered)))
}

func (s *Step) state(typ xds.Type, name string, f event.Fingerprint) {
	if typ == xds.EDS {
		s.States = append(s.States, event.ResourceState{Type: xds.EDS, Name: name, State: f})
	}
}

// with returns v with sorted items added or replaced.
func (v *View) with(t *Table, items []*Item) *View {
	if len(items) == 0 {
		return v
	}
	merged := make([]*Item, 0, len(v.Items)+len(items))
	i := 0
	for _, it := range items {
		for ; i < len(v.Items) && v.Items[i].Name < it.Name; i++ {
			merged = append(merged, v.Items[i])
		}
		if i < len(v.Items) && v.Items[i].Name == it.Name {
			i++
		}
		merged = append(merged, it)
	}
	return t.view(slices.Clip(append(merged, v.Items[i:]...)))
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
