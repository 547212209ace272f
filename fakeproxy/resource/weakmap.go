package resource

import (
	"runtime"
	"sync"
	"weak"
)

const weakShards = 64

// weakMap interns immutable values by key. It keeps none of them alive: a
// value that nothing else holds is collected, and its key removed after that.
type weakMap[K interface {
	comparable
	shard() uint64
}, V any] struct {
	shards [weakShards]weakShard[K, V]
}

type weakShard[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]weak.Pointer[V]
}

// get returns the value of a key, made by build if there is none. Two callers
// may both build; they get the same value.
func (w *weakMap[K, V]) get(k K, build func() *V) *V {
	s := &w.shards[k.shard()%weakShards]
	s.mu.Lock()
	v := s.m[k].Value()
	s.mu.Unlock()
	if v != nil {
		return v
	}
	built := build()
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.m[k].Value(); v != nil {
		return v
	}
	if s.m == nil {
		s.m = make(map[K]weak.Pointer[V])
	}
	s.m[k] = weak.Make(built)
	runtime.AddCleanup(built, s.drop, k)
	return built
}

// drop removes a key whose value was collected, unless a new one took its place.
func (s *weakShard[K, V]) drop(k K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.m[k]; ok && p.Value() == nil {
		delete(s.m, k)
	}
}

// size returns the number of keys.
func (w *weakMap[K, V]) size() int {
	n := 0
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		n += len(s.m)
		s.mu.Unlock()
	}
	return n
}
