package resource

import (
	"sync"
	"time"
	"weak"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// State is the state of one type at a proxy: which resources it asks for, holds,
// and still waits for. Immutable but for its memo of steps, and interned:
// proxies in the same state share one.
type State struct {
	// Names are those that parents name: the subscription, unless the type is
	// subscribed to as a whole. None for root types.
	Names *NameSet
	Held  *View
	// Warming are the names awaited; Expired those whose initial fetch timeout
	// has passed: for SotW "does not exist".
	Warming, Expired *NameSet

	mu    sync.Mutex
	steps map[stepKey]memo // guarded by mu
}

// stateKey identifies a state by content.
type stateKey struct{ names, held, warming, expired Key }

func (k stateKey) shard() uint64 { return k.names.lo ^ k.held.lo ^ k.warming.lo }

// state interns a state.
func (t *Table) state(names *NameSet, held *View, warming, expired *NameSet) *State {
	k := stateKey{names.key, held.key, warming.key, expired.key}
	return t.states.get(k, func() *State {
		return &State{Names: names, Held: held, Warming: warming, Expired: expired}
	})
}

// Nothing is the state before anything has arrived.
func (t *Table) Nothing() *State { return t.state(t.NoNames, t.empty, t.NoNames, t.NoNames) }

// Settled reports whether everything that the parents name has arrived or was
// answered as absent.
func (s *State) Settled() bool { return s.Warming.Len() == 0 && s.Expired.Len() == 0 }

// stepKey identifies what can happen to a state: a response or a new set of
// names, by its content.
type stepKey struct {
	sum Key
	op  uint8 // the type, and one of the two below
}

const (
	ofDelta = 1 << 6 // a response of the Delta variant
	ofNames = 1 << 7 // a new set of names
)

// memo is a step whose next state is held weakly, so that a proxy that stays
// behind in an old state does not keep alive all states that came after it.
type memo struct {
	step *Step
	next weak.Pointer[State]
}

// maxSteps bounds the memo of one state. A state that so many different
// responses lead out of is not one that memoising helps.
const maxSteps = 64

// Step is what one response, or a new set of names, does to a state.
// Immutable, and shared by all proxies that make it.
type Step struct {
	Nack string // why the response is rejected; nothing else is set then

	// Of a response.
	Duplicates, OutOfOrder int
	// ChangedBytes is the size of what was new, and of the names of what went.
	ChangedBytes int
	States       []event.ResourceState
	TTLs         []TTL
	// Rewarm are the endpoints that changed clusters wait for afresh.
	Rewarm *NameSet
	// once says that the step depends on more than its key, such as the order
	// of resources.
	once bool

	// Of a new set of names: what came, what went, and what is now waited for.
	Subscribe, Unsubscribe, Awaited *NameSet
}

// TTL is the time to live of one resource, from the receipt of a response.
type TTL struct {
	Name string
	Type xds.Type
	For  time.Duration
}

// step returns what an event does to s and the state it leads to, worked out
// by f if no proxy has made this step before.
func (s *State) step(k stepKey, f func() (*Step, *State)) (*Step, *State) {
	s.mu.Lock()
	m, ok := s.steps[k]
	s.mu.Unlock()
	if ok {
		if next := m.next.Value(); next != nil {
			return m.step, next
		}
	}
	did, next := f()
	if did.once {
		return did, next
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.steps == nil || len(s.steps) >= maxSteps {
		s.steps = make(map[stepKey]memo)
	}
	s.steps[k] = memo{step: did, next: weak.Make(next)}
	return did, next
}

// Apply returns what a response of type typ does to s, and the state that it leads
// to. lastWins takes the last of two resources with one name (SotW only).
func (t *Table) Apply(s *State, m *Response, typ xds.Type, v xds.Variant, lastWins bool) (*Step, *State) {
	op := uint8(typ)
	if v == xds.Delta {
		op |= ofDelta
	}
	return s.step(stepKey{m.Sum, op}, func() (*Step, *State) {
		in := &incoming{typ: typ, variant: v, lastWins: lastWins}
		for i, b := range m.Resources {
			in.items = append(in.items, t.item(b, m.hashes[i], typ, v))
		}
		for _, b := range m.Removed {
			in.removed = append(in.removed, string(b))
		}
		step, next := t.apply(s, in)
		t.follows(step, typ, s, next)
		return step, next
	})
}

// Rename returns what a new set of names does to s, and the state that it leads to.
// rewarm are the names that are to arrive anew.
func (t *Table) Rename(s *State, typ xds.Type, names, rewarm *NameSet) (*Step, *State) {
	k := stepKey{names.key.plus(rewarm.key.tagged(rewarmMeaning)), ofNames | uint8(typ)}
	return s.step(k, func() (*Step, *State) {
		step, next := t.rename(s, typ, names, rewarm)
		t.follows(step, typ, s, next)
		return step, next
	})
}

// Expire moves s on when the initial fetch of sorted names, all of them warming, has
// taken too long.
func (t *Table) Expire(s *State, names []string) *State {
	return t.state(s.Names, s.Held.without(t, names),
		t.nameSet(difference(s.Warming.Names, names)), t.nameSet(union(s.Expired.Names, names)))
}

// Remove moves s on as if the server had removed resources.
func (t *Table) Remove(s *State, typ xds.Type, names []string) *State {
	// As Delta, where what a response does not name stays.
	_, next := t.apply(s, &incoming{typ: typ, variant: xds.Delta, removed: names})
	return next
}

// Mentions reports whether a response adds or removes a resource whose name match
// accepts.
func (t *Table) Mentions(m *Response, typ xds.Type, v xds.Variant, match func(name string) bool) bool {
	for i, b := range m.Resources {
		if match(t.item(b, m.hashes[i], typ, v).Name) {
			return true
		}
	}
	for _, name := range m.Removed {
		if match(string(name)) {
			return true
		}
	}
	return false
}
