package controlplane

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
)

// nameSet is a subscription by name. Proxies that subscribe to the same names
// share one, and with it the responses that are made for it. Immutable.
type nameSet struct {
	names []string // sorted
	set   map[string]struct{}

	hash nameHash
	uses int // guarded by the interner
}

func (s *nameSet) has(name string) bool {
	if s == nil {
		return false
	}
	_, ok := s.set[name]
	return ok
}

func (s *nameSet) len() int {
	if s == nil {
		return 0
	}
	return len(s.names)
}

// nameHash identifies a set of names whatever their order: the sum of the
// names' hashes under two seeds, and their number. It takes no sorting to see
// that an ACK repeats the subscription, which nearly all requests do.
type nameHash struct {
	a, b uint64
	n    int
}

// interner holds one copy of each set in use.
type interner struct {
	seedA, seedB maphash.Seed

	mu   sync.Mutex
	sets map[nameHash]*nameSet
}

func newInterner() *interner {
	return &interner{
		seedA: maphash.MakeSeed(),
		seedB: maphash.MakeSeed(),
		sets:  make(map[nameHash]*nameSet),
	}
}

func (in *interner) hash(names []string) nameHash {
	h := nameHash{n: len(names)}
	for _, name := range names {
		h.a += maphash.String(in.seedA, name)
		h.b += maphash.String(in.seedB, name)
	}
	return h
}

// swap returns the set of names, and gives up old, which may be nil. No names
// are no set: the result is nil.
func (in *interner) swap(old *nameSet, names []string) *nameSet {
	h := in.hash(names)
	if old != nil && old.hash == h {
		return old
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.releaseLocked(old)
	if len(names) == 0 {
		return nil
	}
	s := in.sets[h]
	if s == nil {
		s = &nameSet{hash: h, set: setOf(names...)}
		s.names = slices.Sorted(maps.Keys(s.set))
		in.sets[h] = s
	}
	s.uses++
	return s
}

func (in *interner) releaseLocked(s *nameSet) {
	if s == nil {
		return
	}
	s.uses--
	if s.uses == 0 {
		delete(in.sets, s.hash)
	}
}
