package fakeproxy

import (
	"sync"
	"time"
	"weak"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// node is the state of one type at a proxy: which resources it asks for, holds,
// and still waits for. Immutable but for its memo of steps, and interned:
// proxies in the same state share one node.
type node struct {
	// names are those that parents name: the subscription, unless the type is
	// subscribed to as a whole. None for root types.
	names *nameSet
	held  *view
	// warming are the names awaited; expired those whose initial fetch timeout
	// has passed: for SotW "does not exist".
	warming, expired *nameSet

	mu    sync.Mutex
	steps map[stepKey]memo // guarded by mu
}

// nodeKey identifies a node by content.
type nodeKey struct{ names, held, warming, expired key }

func (k nodeKey) shard() uint64 { return k.names.lo ^ k.held.lo ^ k.warming.lo }

// node interns a state.
func (t *table) node(names *nameSet, held *view, warming, expired *nameSet) *node {
	k := nodeKey{names.key, held.key, warming.key, expired.key}
	return t.nodes.get(k, func() *node {
		return &node{names: names, held: held, warming: warming, expired: expired}
	})
}

// nothing is the state before anything has arrived.
func (t *table) nothing() *node { return t.node(t.noNames, t.empty, t.noNames, t.noNames) }

// settled reports whether everything that the parents name has arrived or was
// answered as absent.
func (n *node) settled() bool { return n.warming.len() == 0 && n.expired.len() == 0 }

// stepKey identifies what can happen to a node: a response or a new set of
// names, by its content.
type stepKey struct {
	sum key
	op  uint8
}

// memo is a step whose next state is held weakly, so that a proxy that stays
// behind in an old state does not keep alive all states that came after it.
type memo struct {
	step *step
	next weak.Pointer[node]
}

// maxSteps bounds the memo of one node. A state that so many different
// responses lead out of is not one that memoising helps.
const maxSteps = 64

// step is what one response, or a new set of names, does to a state.
// Immutable, and shared by all proxies that make it.
type step struct {
	nack string // why the response is rejected; nothing else is set then

	// Of a response.
	duplicates, outOfOrder int
	states                 []event.ClusterState
	ttls                   []ttl
	// rewarm are the endpoints that changed clusters wait for afresh.
	rewarm *nameSet
	// once says that the step depends on more than its key, such as the order
	// of resources.
	once bool

	// Of a new set of names: what came, what went, and what is now waited for.
	subscribe, unsubscribe, awaited *nameSet
}

// ttl is the time to live of one resource, from the receipt of a response.
type ttl struct {
	name string
	of   xds.Type
	d    time.Duration
}

// step returns what an event does to n and the state it leads to, worked out
// by f if no proxy has made this step before.
func (n *node) step(k stepKey, f func() (*step, *node)) (*step, *node) {
	n.mu.Lock()
	m, ok := n.steps[k]
	n.mu.Unlock()
	if ok {
		if next := m.next.Value(); next != nil {
			return m.step, next
		}
	}
	s, next := f()
	if s.once {
		return s, next
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.steps == nil || len(n.steps) >= maxSteps {
		n.steps = make(map[stepKey]memo)
	}
	n.steps[k] = memo{step: s, next: weak.Make(next)}
	return s, next
}
