package collect

import (
	"sync"

	"github.com/xdsbench/xdsbench/event"
)

// audiences are the audiences of resources as sets of proxies.
type audiences struct {
	proxies int
	member  func(*event.Audience, int) bool

	mu   sync.Mutex
	sets map[*event.Audience]bitset // guarded by mu
}

// of returns the set of proxies, not to be changed; nil for no audience.
func (a *audiences) of(audience *event.Audience) bitset {
	if audience == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	set, ok := a.sets[audience]
	if !ok {
		set = newBitset(a.proxies)
		for p := range a.proxies {
			if a.member == nil || a.member(audience, p) {
				set.set(p)
			}
		}
		a.sets[audience] = set
	}
	return set
}
