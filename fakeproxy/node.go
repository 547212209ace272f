package fakeproxy

import (
	"sync"
	"time"
	"weak"

	"github.com/xdsbench/xdsbench/event"
)

// node is one state of one branch: what a proxy holds of a parent type and of
// the child type, and which children it still waits for. Immutable but for its
// memo of steps, and interned: proxies in the same state share one node.
type node struct {
	parents, children *view
	// warming are the children awaited; expired those whose initial fetch
	// timeout has passed: for SotW "does not exist".
	warming, expired *nameSet

	mu    sync.Mutex
	steps map[stepKey]memo // guarded by mu
}

// nodeKey identifies a node by content.
type nodeKey struct{ parents, children, warming, expired key }

func (k nodeKey) shard() uint64 { return k.parents.lo ^ k.children.lo ^ k.warming.lo }

// node interns a state.
func (t *table) node(parents, children *view, warming, expired *nameSet) *node {
	k := nodeKey{parents.key, children.key, warming.key, expired.key}
	return t.nodes.get(k, func() *node {
		return &node{parents: parents, children: children, warming: warming, expired: expired}
	})
}

// root is the state before anything has arrived.
func (t *table) root() *node { return t.node(t.empty, t.empty, t.noNames, t.noNames) }

// names are the children that a proxy in this state subscribes to.
func (n *node) names() *nameSet { return n.parents.children }

// settled reports whether every child that the parents name has arrived or was
// answered as absent.
func (n *node) settled() bool { return n.warming.len() == 0 && n.expired.len() == 0 }

// stepKey identifies what can happen to a node: a response, by its content.
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

// step is what one response does to a state. Immutable, and shared by all
// proxies that make it.
type step struct {
	nack string // why the response is rejected; nothing else is set then

	resources, duplicates, outOfOrder int
	states                            []event.ClusterState
	// subscribe and unsubscribe are children that came and went with parents.
	subscribe, unsubscribe *nameSet
	// awaited are children that a parent now waits for, afresh.
	awaited *nameSet
	ttls    []ttl
	// once says that the step depends on more than its key, such as the order
	// of resources.
	once bool
}

// ttl is the time to live of one resource, from the receipt of a response.
type ttl struct {
	name string
	of   event.Type
	d    time.Duration
}

// step returns what a response does to n and the state it leads to, worked out
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
