package collect

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// entry is one state in a cluster's history. The first entry of a cluster in
// the baseline has no mutation.
type entry struct {
	state  event.Fingerprint
	issued event.Time
	m      *mutation
}

// nothing is the position of a proxy that has received no state of a cluster.
const nothing = -1

// resource follows one resource.
type resource struct {
	typ  xds.Type
	name string
	// baseline says that the history starts with the state the mesh began with,
	// so that every state a proxy can rightly hold is in it.
	baseline bool
	// audience are the proxies that have to know it, subscribed or not; nil is none.
	// Immutable, set before any proxy or mutation knows the resource.
	audience bitset

	// history only grows; readers take the slice as it is.
	history atomic.Pointer[[]entry]
	// appending guards writers of history.
	appending sync.Mutex

	// Per proxy, guarded by the mutex of the proxy's shard: whether it has
	// received the first state of history, or a later one, which is then in
	// moved; whether it subscribes; and whether it has since received a state
	// that no mutation explains.
	received   bitset
	subscribed bitset
	astray     bitset
	// moved holds, per proxy, the index in history of what it last received, if
	// that is above 0. Its elements are guarded as the above. It is made when
	// first needed: most clusters of a large mesh seldom change.
	moved atomic.Pointer[[]int32]
}

func newResource(typ xds.Type, name string, proxies int) *resource {
	c := &resource{
		typ:        typ,
		name:       name,
		received:   newBitset(proxies),
		subscribed: newBitset(proxies),
		astray:     newBitset(proxies),
	}
	c.history.Store(&[]entry{})
	return c
}

// append adds a state, at the index that next told.
func (c *resource) append(e entry) {
	c.appending.Lock()
	defer c.appending.Unlock()
	grown := append(*c.history.Load(), e)
	c.history.Store(&grown)
}

// next returns the index that the next state will have. It holds until the
// next append, which is the caller's: mutations of a service are serial.
func (c *resource) next() int32 { return int32(len(*c.history.Load())) }

// match says how a received state stands to a cluster's history.
type match uint8

const (
	// unknown: no entry has the state.
	unknown match = iota
	// forward: the position's entry or a later one has it.
	forward
	// backward: only an entry before the position has it.
	backward
	// recurring: the same, but the state held before also occurs at or before
	// that entry. The state held was then taken for its newest occurrence too
	// early, and nothing need have gone backward.
	recurring
)

// find returns the newest entry of history, at or after the proxy's position,
// that has the state and had been issued when the state was received; if there
// is none, the newest before the position.
func find(history []entry, position int32, state event.Fingerprint, received event.Time) (index int32, how match) {
	for i := int32(len(history)) - 1; i >= max(position, 0); i-- {
		if history[i].state == state && history[i].issued <= received {
			return i, forward
		}
	}
	for i := position - 1; i >= 0; i-- {
		if history[i].state != state {
			continue
		}
		for k := i - 1; k >= 0; k-- {
			if history[k].state == history[position].state {
				return i, recurring
			}
		}
		return i, backward
	}
	return nothing, unknown
}

// counts reports whether the resource is one of those that make proxy p complete.
func (c *resource) counts(p int) bool {
	return c.baseline && c.typ == xds.EDS && c.audience != nil && c.audience.has(p)
}

// position returns the index in history of what proxy p last received.
func (c *resource) position(p int) int32 {
	if moved := c.moved.Load(); moved != nil && (*moved)[p] > 0 {
		return (*moved)[p]
	}
	if c.received.has(p) {
		return 0
	}
	return nothing
}

// move sets the position of proxy p.
func (c *resource) move(p int, index int32) {
	moved := c.moved.Load()
	if index > 0 && moved == nil {
		made := make([]int32, 64*len(c.received))
		if c.moved.CompareAndSwap(nil, &made) {
			moved = &made
		} else {
			moved = c.moved.Load()
		}
	}
	if moved != nil {
		(*moved)[p] = max(index, 0)
	}
	if index == nothing {
		c.received.clear(p)
	} else {
		c.received.set(p)
	}
}

// shows reports whether proxy p now holds the newest state of the cluster. What a
// mutation made and a later one took away again is absent where nothing of it was received.
func (c *resource) shows(p int) bool {
	history, at := *c.history.Load(), c.position(p)
	if newest := history[len(history)-1].state; at == nothing && newest == event.Absent {
		return !c.baseline && history[0].state != event.Absent
	}
	return at != nothing && !c.astray.has(p) && history[at].state == history[len(history)-1].state
}

// lose drops what is known of the state that proxy p holds.
func (c *resource) lose(p int) {
	c.move(p, nothing)
	c.astray.clear(p)
}

// known is the resources by type and name: read without a lock, copied to grow.
type known struct {
	proxies int
	byName  [xds.NumTypes]atomic.Pointer[map[string]*resource]
	growing sync.Mutex
}

func newKnown(proxies int) *known {
	k := &known{proxies: proxies}
	for t := range k.byName {
		k.byName[t].Store(&map[string]*resource{})
	}
	return k
}

func (k *known) get(t xds.Type, name string) *resource { return (*k.byName[t].Load())[name] }

// all yields every known resource.
func (k *known) all() iter.Seq[*resource] {
	return func(yield func(*resource) bool) {
		for t := range k.byName {
			for _, r := range *k.byName[t].Load() {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// subscribed makes sure that EDS resources are known that proxies subscribe to.
func (k *known) subscribed(names []string) {
	missing := func(name string) bool { return k.get(xds.EDS, name) == nil }
	if !slices.ContainsFunc(names, missing) {
		return
	}
	k.growing.Lock()
	defer k.growing.Unlock()
	grown := maps.Clone(*k.byName[xds.EDS].Load())
	for _, name := range names {
		if grown[name] == nil {
			grown[name] = newResource(xds.EDS, name, k.proxies)
		}
	}
	k.byName[xds.EDS].Store(&grown)
}

// changed returns the resource that a mutation gives a state. One that only
// subscriptions were known of gets the mutation's audience.
func (k *known) changed(t xds.Type, name string, audience bitset) *resource {
	if r := k.get(t, name); r != nil && (r.audience != nil || audience == nil) {
		return r
	}
	k.growing.Lock()
	defer k.growing.Unlock()
	grown := maps.Clone(*k.byName[t].Load())
	r := newResource(t, name, k.proxies)
	if before := grown[name]; before != nil {
		r.subscribed = before.subscribed
	}
	r.audience = audience
	grown[name] = r
	k.byName[t].Store(&grown)
	return r
}

// bitset is a set of proxies. Shards begin at multiples of 64, so each word
// belongs to one shard and is guarded by that shard's mutex.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(p int) bool { return b[p>>6]&(1<<(p&63)) != 0 }
func (b bitset) set(p int)      { b[p>>6] |= 1 << (p & 63) }
func (b bitset) clear(p int)    { b[p>>6] &^= 1 << (p & 63) }
