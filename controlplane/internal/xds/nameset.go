package xds

import (
	"hash/maphash"
	"maps"
	"runtime"
	"slices"
	"sync"
	"weak"
)

// NameSet is the set of names that a proxy subscribes to. Proxies that subscribe
// to the same names share one, and with it the responses made for it. Immutable;
// nil is the empty set.
type NameSet struct {
	names []string // sorted
	set   map[string]struct{}
}

// Has tells whether name is in the set.
func (s *NameSet) Has(name string) bool {
	if s == nil {
		return false
	}
	_, ok := s.set[name]
	return ok
}

// Names lists the set in order. The list is shared: it must not be altered.
func (s *NameSet) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// Without returns the names of s that are not in other.
func (s *NameSet) Without(other *NameSet) []string {
	if s == other {
		return nil
	}
	var out []string
	for _, name := range s.Names() {
		if !other.Has(name) {
			out = append(out, name)
		}
	}
	return out
}

// NameHash identifies a set of names independently of their order: the sums of
// the names' hashes under two seeds, and their number. Nearly all requests are
// ACKs that repeat the subscription, which this recognises without sorting.
type NameHash struct {
	a, b uint64
	n    int
}

// Interner holds one copy of each set that is in use.
type Interner struct {
	seedA, seedB maphash.Seed

	mu   sync.Mutex
	sets map[NameHash]weak.Pointer[NameSet]
}

// NewInterner returns an empty interner.
func NewInterner() *Interner {
	return &Interner{
		seedA: maphash.MakeSeed(),
		seedB: maphash.MakeSeed(),
		sets:  make(map[NameHash]weak.Pointer[NameSet]),
	}
}

// AddTo adds a name to the set that h stands for.
func (in *Interner) AddTo(h *NameHash, name []byte) {
	h.a += maphash.Bytes(in.seedA, name)
	h.b += maphash.Bytes(in.seedB, name)
	h.n++
}

// Get returns the set with hash h. If there is none it is made from names, and an
// error of names is returned.
func (in *Interner) Get(h NameHash, names func() ([]string, error)) (*NameSet, error) {
	if h.n == 0 {
		return nil, nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if s := in.sets[h].Value(); s != nil {
		return s, nil
	}
	list, err := names()
	if err != nil {
		return nil, err
	}
	s := &NameSet{set: make(map[string]struct{}, len(list))}
	for _, name := range list {
		s.set[name] = struct{}{}
	}
	s.names = slices.Sorted(maps.Keys(s.set))
	in.sets[h] = weak.Make(s)
	runtime.AddCleanup(s, in.forget, h)
	return s, nil
}

// Of returns the set of names.
func (in *Interner) Of(names []string) *NameSet {
	var h NameHash
	for _, name := range names {
		in.AddTo(&h, []byte(name))
	}
	// The function cannot fail, and so neither can Get.
	s, _ := in.Get(h, func() ([]string, error) { return names, nil })
	return s
}

// forget drops the entry of a set that has been collected, unless an equal one has
// been made since.
func (in *Interner) forget(h NameHash) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.sets[h].Value() == nil {
		delete(in.sets, h)
	}
}
