package controlplane

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

// snapshot is one state of all resources. It is immutable but for memos of
// what is derived from it on demand. Snapshots that follow one another in
// incremental pushes share their routing.
type snapshot struct {
	version   string
	endpoints map[string]*encoded // EDS by cluster name
	routing   *routing

	memo struct {
		mu      sync.Mutex
		bySet   map[*nameSet]*bundle // the endpoints of a whole subscription
		changes map[changeKey]*endpointChange
		absent  map[string]*encoded // empty answers for unknown clusters
	}
}

// serviceResources is what one service contributes.
type serviceResources struct {
	service   *service
	clusters  []*encoded
	endpoints []*encoded
	listeners []*encoded
}

func newSnapshot(number uint64, now time.Time, endpoints map[string]*encoded, r *routing) *snapshot {
	s := &snapshot{
		// The form of istiod's push version.
		version:   now.UTC().Format(time.RFC3339) + "/" + strconv.FormatUint(number, 10),
		endpoints: endpoints,
		routing:   r,
	}
	s.memo.bySet = make(map[*nameSet]*bundle)
	s.memo.changes = make(map[changeKey]*endpointChange)
	s.memo.absent = make(map[string]*encoded)
	return s
}

// endpointsOf returns the load assignment of name. An unknown cluster gets an
// empty one, as from istiod: the client's wait for it ends.
func (s *snapshot) endpointsOf(name string) *encoded {
	if e, ok := s.endpoints[name]; ok {
		return e
	}
	s.memo.mu.Lock()
	defer s.memo.mu.Unlock()
	e, ok := s.memo.absent[name]
	if !ok {
		e = (&encoder{}).encode(typeEDS, name, loadAssignment(name, nil))
		s.memo.absent[name] = e
	}
	return e
}

// endpointsOfSet returns the load assignments of a whole subscription, built
// once for all proxies that share it.
func (s *snapshot) endpointsOfSet(set *nameSet) *bundle {
	s.memo.mu.Lock()
	b, ok := s.memo.bySet[set]
	s.memo.mu.Unlock()
	if ok {
		return b
	}
	b = s.endpointsOfNames(set.names)
	s.memo.mu.Lock()
	defer s.memo.mu.Unlock()
	s.memo.bySet[set] = b
	return b
}

func (s *snapshot) endpointsOfNames(names []string) *bundle {
	list := make([]*encoded, 0, len(names))
	for _, name := range names {
		list = append(list, s.endpointsOf(name))
	}
	return newBundle(list)
}

// changeKey is a push to the proxies with one subscription.
type changeKey struct {
	push *pushRequest
	set  *nameSet
}

// endpointChange is the EDS content of a push.
type endpointChange struct {
	content *bundle
	removed []string // subscribed names whose service is gone
}

// changedEndpoints returns what a push owes to the subscribers of set, built
// once for all of them.
func (s *snapshot) changedEndpoints(p *pushRequest, set *nameSet) *endpointChange {
	key := changeKey{push: p, set: set}
	s.memo.mu.Lock()
	defer s.memo.mu.Unlock()
	if change, ok := s.memo.changes[key]; ok {
		return change
	}
	change := &endpointChange{content: &bundle{}}
	for _, name := range slices.Sorted(maps.Keys(p.endpoints)) {
		switch e, ok := s.endpoints[name]; {
		case !set.has(name):
		case ok:
			change.content.add(e)
		default:
			change.removed = append(change.removed, name)
		}
	}
	s.memo.changes[key] = change
	return change
}

// build makes the snapshot that follows previous, and the request that brings
// proxies from the one to the other. The request is nil if no proxy would see
// a difference. previous is nil for the first snapshot.
func (r *registry) build(previous *snapshot, u *update, number uint64) (*snapshot, *pushRequest, error) {
	enc := &encoder{}
	request := &pushRequest{
		full:      u.full,
		reasons:   u.reasons,
		clusters:  make(map[string]struct{}),
		endpoints: make(map[string]struct{}),
		listeners: make(map[string]struct{}),
	}
	before := &routing{}
	endpoints := make(map[string]*encoded)
	if previous != nil {
		before = previous.routing
		endpoints = maps.Clone(previous.endpoints)
	}
	changed := r.regenerate(enc, before, u)
	for key, next := range changed {
		request.note(before.services[key], next, u, key)
		replaceEndpoints(endpoints, before.services[key], next)
	}
	if enc.err != nil {
		return nil, nil, enc.err
	}
	after := before.with(changed)
	if u.full || previous == nil {
		after.assemble(enc)
		before.noteGone(after, request.listeners)
	} else if len(request.endpoints) == 0 {
		return previous, nil, nil
	}
	return newSnapshot(number, time.Now(), endpoints, after), request, enc.err
}

// regenerate encodes anew what u says has changed, under the model's lock.
func (r *registry) regenerate(enc *encoder, before *routing, u *update) map[serviceKey]*serviceResources {
	changed := make(map[serviceKey]*serviceResources, len(u.services)+len(u.endpoints))
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range u.services {
		changed[key] = r.generateLocked(enc, key)
	}
	for key := range u.endpoints {
		if _, done := changed[key]; !done {
			changed[key] = r.refreshLocked(enc, before.services[key])
		}
	}
	return changed
}

// generateLocked returns the resources of a service, nil if it is gone.
func (r *registry) generateLocked(enc *encoder, key serviceKey) *serviceResources {
	e := r.entries[key]
	if e == nil || e.service == nil {
		return nil
	}
	if e.service.hidden {
		return &serviceResources{service: e.service}
	}
	return &serviceResources{
		service:   e.service,
		clusters:  generateClusters(enc, e.service, r.sendUnhealthy),
		listeners: generateTCPListeners(enc, e.service),
		endpoints: generateEndpoints(enc, e.service, e.parts(), r.nodes),
	}
}

// refreshLocked returns known with its endpoints encoded anew. It keeps to the
// definition that proxies have been told: the model's may be newer, but then
// an update is under way whose full push will compare the two.
func (r *registry) refreshLocked(enc *encoder, known *serviceResources) *serviceResources {
	if known == nil || known.service.hidden {
		return known
	}
	e := r.entries[known.service.key]
	if e == nil || e.service == nil {
		return known
	}
	next := *known
	next.endpoints = generateEndpoints(enc, known.service, e.parts(), r.nodes)
	return &next
}

func (e *entry) parts() []*endpointSlice { return slices.Collect(maps.Values(e.slices)) }

// note adds to p what differs between two states of a service. After a change
// of the service itself its endpoints are sent too, changed or not: Envoy
// warms an updated cluster until it has seen them.
func (p *pushRequest) note(before, after *serviceResources, u *update, key serviceKey) {
	_, defined := u.services[key]
	known := make(map[string]string)
	for _, e := range before.endpointList() {
		known[e.name] = e.version
		if defined {
			p.endpoints[e.name] = struct{}{}
		}
	}
	for _, e := range after.endpointList() {
		if defined || known[e.name] != e.version {
			p.endpoints[e.name] = struct{}{}
		}
	}
	if !defined {
		return
	}
	for _, state := range []*serviceResources{before, after} {
		for _, c := range state.clusterList() {
			p.clusters[c.name] = struct{}{}
		}
	}
}

// endpointList is empty for a service that does not exist.
func (s *serviceResources) endpointList() []*encoded {
	if s == nil {
		return nil
	}
	return s.endpoints
}

// clusterList is empty for a service that does not exist.
func (s *serviceResources) clusterList() []*encoded {
	if s == nil {
		return nil
	}
	return s.clusters
}

func replaceEndpoints(endpoints map[string]*encoded, before, after *serviceResources) {
	for _, e := range before.endpointList() {
		delete(endpoints, e.name)
	}
	for _, e := range after.endpointList() {
		endpoints[e.name] = e
	}
}

func compareKeys(a, b serviceKey) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}
