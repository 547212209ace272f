package controlplane

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
)

// nameSet is a subscription by name. Proxies that subscribe to the same names
// share one, and with it the responses that are made for it. Immutable; nil is
// the empty set.
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

// without returns the names of s that are not in other.
func (s *nameSet) without(other *nameSet) []string {
	if s == other || s == nil {
		return nil
	}
	var out []string
	for _, name := range s.names {
		if !other.has(name) {
			out = append(out, name)
		}
	}
	return out
}

// nameHash identifies a set of names whatever their order: the sums of the
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

// add counts a name into h.
func (in *interner) add(h *nameHash, name []byte) {
	h.a += maphash.Bytes(in.seedA, name)
	h.b += maphash.Bytes(in.seedB, name)
	h.n++
}

func (in *interner) hash(names []string) nameHash {
	h := nameHash{n: len(names)}
	for _, name := range names {
		h.a += maphash.String(in.seedA, name)
		h.b += maphash.String(in.seedB, name)
	}
	return h
}

// acquire returns the set with hash h, which release must give back. If there
// is none it is made of names.
func (in *interner) acquire(h nameHash, names func() ([]string, error)) (*nameSet, error) {
	if h.n == 0 {
		return nil, nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	s := in.sets[h]
	if s == nil {
		list, err := names()
		if err != nil {
			return nil, err
		}
		s = &nameSet{hash: h, set: setOf(list...)}
		s.names = slices.Sorted(maps.Keys(s.set))
		in.sets[h] = s
	}
	s.uses++
	return s, nil
}

// of returns the set of names, which release must give back.
func (in *interner) of(names []string) *nameSet {
	// The function cannot fail, and so neither can acquire.
	s, _ := in.acquire(in.hash(names), func() ([]string, error) { return names, nil })
	return s
}

// release gives back one use of each set; nil has none.
func (in *interner) release(sets ...*nameSet) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range sets {
		if s == nil {
			continue
		}
		s.uses--
		if s.uses == 0 {
			delete(in.sets, s.hash)
		}
	}
}
