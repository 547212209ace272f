package resource

import (
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// Table is what all proxies of a fleet share: every resource, set of resources
// and state that at least one of them holds, once.
type Table struct {
	keepBytes bool
	follow    [xds.NumKnown]bool

	bodies weakMap[Key, Body]
	items  weakMap[Key, Item]
	views  weakMap[Key, View]
	names  weakMap[Key, NameSet]
	states weakMap[stateKey, State]

	NoNames *NameSet

	empty *View
}

// NewTable returns an empty table. keepBytes keeps the content of resources. follow are
// the types other than EDS of which a Step says what has changed.
func NewTable(keepBytes bool, follow ...xds.Type) *Table {
	t := &Table{keepBytes: keepBytes}
	for _, typ := range follow {
		t.follow[typ] = typ != xds.EDS
	}
	t.NoNames = t.nameSet(nil)
	t.empty = t.view(nil)
	return t
}

// NameSet is an immutable set of names, interned: equal sets are one pointer.
type NameSet struct {
	Names []string // sorted, unique
	key   Key
	// Encoded is the set as field 3 of a request: resource_names in SotW,
	// resource_names_subscribe in Delta.
	Encoded mem.SliceBuffer
}

const fieldNames = 3

// nameSet interns names, which must be sorted and unique and are kept.
func (t *Table) nameSet(names []string) *NameSet {
	var k Key
	for _, n := range names {
		k = k.plus(hashString(n))
	}
	return t.names.get(k, func() *NameSet {
		size := 0
		for _, n := range names {
			size += protowire.SizeTag(fieldNames) + protowire.SizeBytes(len(n))
		}
		encoded := make([]byte, 0, size)
		for _, n := range names {
			encoded = protowire.AppendTag(encoded, fieldNames, protowire.BytesType)
			encoded = protowire.AppendString(encoded, n)
		}
		return &NameSet{Names: names, key: k, Encoded: encoded}
	})
}

// Has reports whether a name is in the set.
func (s *NameSet) Has(name string) bool {
	_, ok := slices.BinarySearch(s.Names, name)
	return ok
}

// Len returns the number of names.
func (s *NameSet) Len() int { return len(s.Names) }

// View is an immutable set of resources of one type, interned.
type View struct {
	Items []*Item // sorted by name
	Bytes int64   // of their contents
	// Children are the resources that these name, by type.
	Children [xds.NumKnown]*NameSet

	key Key

	showing sync.Once
	shown   []event.ResourceState
}

// view interns items, which must be sorted by name and unique and are kept.
func (t *Table) view(items []*Item) *View {
	var k Key
	for _, it := range items {
		k = k.plus(it.key)
	}
	return t.views.get(k, func() *View {
		v := &View{Items: items, key: k}
		var children [xds.NumKnown][]string
		for _, it := range items {
			v.Bytes += int64(it.Body.Size)
			for _, c := range it.Body.Children {
				children[c.Type] = append(children[c.Type], c.Name)
			}
		}
		for of, names := range children {
			v.Children[of] = t.NoNames
			if len(names) > 0 {
				slices.Sort(names)
				v.Children[of] = t.nameSet(slices.Clip(slices.Compact(names)))
			}
		}
		return v
	})
}

// Union interns the names of a and b.
func (t *Table) Union(a, b *NameSet) *NameSet {
	switch {
	case a == b, b.Len() == 0:
		return a
	case a.Len() == 0:
		return b
	}
	return t.nameSet(union(a.Names, b.Names))
}

func compareItem(it *Item, name string) int { return strings.Compare(it.Name, name) }

// Find returns the resource of a name, nil if there is none.
func (v *View) Find(name string) *Item {
	if i, ok := slices.BinarySearchFunc(v.Items, name, compareItem); ok {
		return v.Items[i]
	}
	return nil
}

// without returns v less the named resources.
func (v *View) without(t *Table, names []string) *View {
	if len(names) == 0 {
		return v
	}
	drop := make(map[string]struct{}, len(names))
	for _, n := range names {
		drop[n] = struct{}{}
	}
	kept := make([]*Item, 0, len(v.Items))
	for _, it := range v.Items {
		if _, ok := drop[it.Name]; !ok {
			kept = append(kept, it)
		}
	}
	if len(kept) == len(v.Items) {
		return v
	}
	return t.view(kept)
}

// item interns one resource of a response by its bytes.
func (t *Table) item(b []byte, hash Key, typ xds.Type, v xds.Variant) *Item {
	k := hash.tagged(resourceMeaning(typ, v))
	return t.items.get(k, func() *Item {
		it := t.unwrap(b, typ, v)
		it.key = k
		return it
	})
}

// body interns the content of a resource, an encoded Any.
func (t *Table) body(anyBytes []byte, typ xds.Type) *Body {
	k := hashBytes(anyBytes).tagged(uint64(typ))
	return t.bodies.get(k, func() *Body { return decode(anyBytes, typ, t.keepBytes, t.follow[typ]) })
}

// Naming lists the resources that name a child.
func (v *View) Naming(t xds.Type, child string) []string {
	var names []string
	for _, it := range v.Items {
		if it.Body.names(t, child) {
			names = append(names, it.Name)
		}
	}
	return names
}

// Len returns the number of entries, which falls as the garbage collector takes what
// no proxy holds any more.
func (t *Table) Len() int {
	return t.bodies.size() + t.items.size() + t.views.size() + t.names.size() + t.states.size()
}
