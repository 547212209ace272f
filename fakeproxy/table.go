package fakeproxy

import (
	"slices"
	"strings"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsbench/xdsbench/event/xds"
)

// table is what all proxies of a fleet share: every resource, set of resources
// and state that at least one of them holds, once.
type table struct {
	keepBytes bool

	bodies weakMap[key, body]
	items  weakMap[key, item]
	views  weakMap[key, view]
	names  weakMap[key, nameSet]
	nodes  weakMap[nodeKey, node]

	noNames *nameSet
	empty   *view
}

func newTable(keepBytes bool) *table {
	t := &table{keepBytes: keepBytes}
	t.noNames = t.nameSet(nil)
	t.empty = t.view(nil)
	return t
}

// nameSet is an immutable set of names, interned: equal sets are one pointer.
type nameSet struct {
	names []string // sorted, unique
	key   key
	// encoded is the set as field 3 of a request: resource_names in SotW,
	// resource_names_subscribe in Delta.
	encoded mem.SliceBuffer
}

const fieldNames = 3

// nameSet interns names, which must be sorted and unique and are kept.
func (t *table) nameSet(names []string) *nameSet {
	var k key
	for _, n := range names {
		k = k.plus(hashString(n))
	}
	return t.names.get(k, func() *nameSet {
		size := 0
		for _, n := range names {
			size += protowire.SizeTag(fieldNames) + protowire.SizeBytes(len(n))
		}
		encoded := make([]byte, 0, size)
		for _, n := range names {
			encoded = protowire.AppendTag(encoded, fieldNames, protowire.BytesType)
			encoded = protowire.AppendString(encoded, n)
		}
		return &nameSet{names: names, key: k, encoded: encoded}
	})
}

func (s *nameSet) has(name string) bool {
	_, ok := slices.BinarySearch(s.names, name)
	return ok
}

func (s *nameSet) len() int { return len(s.names) }

// view is an immutable set of resources of one type, interned.
type view struct {
	items []*item // sorted by name
	key   key
	bytes int64
	// children are the resources that these name, by type.
	children [numTypes]*nameSet
}

// view interns items, which must be sorted by name and unique and are kept.
func (t *table) view(items []*item) *view {
	var k key
	for _, it := range items {
		k = k.plus(it.key)
	}
	return t.views.get(k, func() *view {
		v := &view{items: items, key: k}
		var children [numTypes][]string
		for _, it := range items {
			v.bytes += int64(it.body.size)
			for _, c := range it.body.children {
				children[c.of] = append(children[c.of], c.name)
			}
		}
		for of, names := range children {
			v.children[of] = t.noNames
			if len(names) > 0 {
				slices.Sort(names)
				v.children[of] = t.nameSet(slices.Clip(slices.Compact(names)))
			}
		}
		return v
	})
}

// union interns the names of a and b.
func (t *table) union(a, b *nameSet) *nameSet {
	switch {
	case a == b, b.len() == 0:
		return a
	case a.len() == 0:
		return b
	}
	return t.nameSet(union(a.names, b.names))
}

func compareItem(it *item, name string) int { return strings.Compare(it.name, name) }

func (v *view) find(name string) *item {
	if i, ok := slices.BinarySearchFunc(v.items, name, compareItem); ok {
		return v.items[i]
	}
	return nil
}

// without returns v less the named resources.
func (v *view) without(t *table, names []string) *view {
	if len(names) == 0 {
		return v
	}
	drop := make(map[string]struct{}, len(names))
	for _, n := range names {
		drop[n] = struct{}{}
	}
	kept := make([]*item, 0, len(v.items))
	for _, it := range v.items {
		if _, ok := drop[it.name]; !ok {
			kept = append(kept, it)
		}
	}
	if len(kept) == len(v.items) {
		return v
	}
	return t.view(kept)
}

// item interns one resource of a response by its bytes.
func (t *table) item(b []byte, hash key, typ xds.Type, v xds.Variant) *item {
	k := hash.mixed(resourceMeaning(typ, v))
	return t.items.get(k, func() *item {
		it := t.unwrap(b, typ, v)
		it.key = k
		return it
	})
}

// body interns the content of a resource, an encoded Any.
func (t *table) body(anyBytes []byte, typ xds.Type) *body {
	k := hashBytes(anyBytes).mixed(uint64(typ))
	return t.bodies.get(k, func() *body { return decode(anyBytes, typ, t.keepBytes) })
}
