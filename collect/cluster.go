package collect

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/xdsbench/xdsbench/event"
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

// cluster follows one EDS resource.
type cluster struct {
	name string
	// baseline says that the history starts with the state the mesh began with,
	// so that every state a proxy can rightly hold is in it.
	baseline bool

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

func newCluster(name string, proxies int) *cluster {
	c := &cluster{
		name:       name,
		received:   newBitset(proxies),
		subscribed: newBitset(proxies),
		astray:     newBitset(proxies),
	}
	c.history.Store(&[]entry{})
	return c
}

// append adds a state, at the index that next told.
func (c *cluster) append(e entry) {
	c.appending.Lock()
	defer c.appending.Unlock()
	grown := append(*c.history.Load(), e)
	c.history.Store(&grown)
}

// next returns the index that the next state will have. It holds until the
// next append, which is the caller's: mutations of a service are serial.
func (c *cluster) next() int32 { return int32(len(*c.history.Load())) }

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

// position returns the index in history of what proxy p last received.
func (c *cluster) position(p int) int32 {
	if moved := c.moved.Load(); moved != nil && (*moved)[p] > 0 {
		return (*moved)[p]
	}
	if c.received.has(p) {
		return 0
	}
	return nothing
}

// move sets the position of proxy p.
func (c *cluster) move(p int, index int32) {
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

// shows reports whether proxy p now holds the newest state of the cluster.
func (c *cluster) shows(p int) bool {
	history, at := *c.history.Load(), c.position(p)
	return at != nothing && !c.astray.has(p) && history[at].state == history[len(history)-1].state
}

// lose drops what is known of the state that proxy p holds.
func (c *cluster) lose(p int) {
	c.move(p, nothing)
	c.astray.clear(p)
}

// clusters is the set of known clusters: read without a lock, copied to grow.
type clusters struct {
	proxies int
	byName  atomic.Pointer[map[string]*cluster]
	growing sync.Mutex
}

func (cs *clusters) get(name string) *cluster { return (*cs.byName.Load())[name] }

// ensure makes sure that every name is known.
func (cs *clusters) ensure(names []string) {
	if cs.knows(names) {
		return
	}
	cs.growing.Lock()
	defer cs.growing.Unlock()
	grown := maps.Clone(*cs.byName.Load())
	for _, name := range names {
		if grown[name] == nil {
			grown[name] = newCluster(name, cs.proxies)
		}
	}
	cs.byName.Store(&grown)
}

func (cs *clusters) knows(names []string) bool {
	known := *cs.byName.Load()
	for _, name := range names {
		if known[name] == nil {
			return false
		}
	}
	return true
}

// bitset is a set of proxies. Shards begin at multiples of 64, so each word
// belongs to one shard and is guarded by that shard's mutex.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(p int) bool { return b[p>>6]&(1<<(p&63)) != 0 }
func (b bitset) set(p int)      { b[p>>6] |= 1 << (p & 63) }
func (b bitset) clear(p int)    { b[p>>6] &^= 1 << (p & 63) }
