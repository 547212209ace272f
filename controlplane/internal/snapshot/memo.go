package snapshot

import "sync"

// memo keeps what has been built for each key. The zero value is empty.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	built map[K]V
}

// get returns the value of key, built if it is asked for the first time.
func (m *memo[K, V]) get(key K, build func() V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.built[key]
	if !ok {
		if m.built == nil {
			m.built = make(map[K]V)
		}
		v = build()
		m.built[key] = v
	}
	return v
}
