package controlplane

import (
	"maps"
	"slices"
	"strconv"
	"sync"
)

// routing is the part of a state that only full pushes change: clusters,
// listeners and routes. It is immutable but for memos.
type routing struct {
	services  map[serviceKey]*serviceResources
	clusters  map[string]*encoded // CDS by name, without inbound ones
	listeners map[string]*encoded // LDS by name, without virtualInbound

	clusterList  []*encoded // in the order in which they are sent
	listenerList []*encoded

	targets map[string][]routeTarget // HTTP services by route name
	byNS    map[string][]*service    // services with a selector, by namespace

	memo *routingMemo // of this assembly; services may differ between sharers
}

type routingMemo struct {
	mu       sync.Mutex
	routes   map[routeKey]*encoded
	sets     map[routeSetKey]*bundle
	inbound  map[string]*inbound // by workload key
	clusters map[*inbound]*bundle
	listener map[*inbound]*bundle
}

type routeKey struct{ name, namespace string }

type routeSetKey struct {
	set       *nameSet
	namespace string
}

// inbound is what differs per proxy: the way to its own workload. Proxies of
// equal workloads share it.
type inbound struct {
	clusters []*encoded
	listener *encoded // virtualInbound
}

// inboundPort is one port of a workload that a service leads to.
type inboundPort struct {
	number      uint32 // on the workload
	servicePort uint32
	service     *service
	protocol    protocol
}

// with returns r with some services replaced. Lists and memos stay r's until
// assemble is called, which a change of endpoints does not need.
func (r *routing) with(changed map[serviceKey]*serviceResources) *routing {
	next := *r
	next.services = maps.Clone(r.services)
	if next.services == nil {
		next.services = make(map[serviceKey]*serviceResources, len(changed))
	}
	for key, s := range changed {
		if s == nil {
			delete(next.services, key)
		} else {
			next.services[key] = s
		}
	}
	return &next
}

// assemble rebuilds everything that depends on the set of services.
func (r *routing) assemble(enc *encoder) {
	r.clusters = make(map[string]*encoded)
	r.listeners = make(map[string]*encoded)
	r.targets = make(map[string][]routeTarget)
	r.byNS = make(map[string][]*service)
	r.clusterList, r.listenerList = nil, nil
	r.memo = &routingMemo{
		routes:   make(map[routeKey]*encoded),
		sets:     make(map[routeSetKey]*bundle),
		inbound:  make(map[string]*inbound),
		clusters: make(map[*inbound]*bundle),
		listener: make(map[*inbound]*bundle),
	}
	keys := slices.SortedFunc(maps.Keys(r.services), compareKeys)
	for _, key := range keys {
		r.addService(enc, r.services[key])
	}
	// After the HTTP listeners: where both want all addresses of a port, a
	// headless TCP service yields.
	for _, key := range keys {
		for _, l := range r.services[key].listeners {
			r.addListener(l)
		}
	}
	for _, c := range generateStaticClusters(enc) {
		r.addCluster(c)
	}
	r.addListener(generateVirtualOutbound(enc))
}

func (r *routing) addService(enc *encoder, s *serviceResources) {
	for _, c := range s.clusters {
		r.addCluster(c)
	}
	if len(s.service.selector) > 0 {
		namespace := s.service.key.namespace
		r.byNS[namespace] = append(r.byNS[namespace], s.service)
	}
	for _, port := range s.service.ports {
		if s.service.hidden || !port.protocol.isHTTP() {
			continue
		}
		name := strconv.FormatUint(uint64(port.number), 10)
		if r.targets[name] == nil {
			r.addListener(generateHTTPListener(enc, port.number))
		}
		r.targets[name] = append(r.targets[name], routeTarget{service: s.service, port: port.number})
	}
}

func (r *routing) addCluster(c *encoded) {
	if _, taken := r.clusters[c.name]; !taken {
		r.clusters[c.name] = c
		r.clusterList = append(r.clusterList, c)
	}
}

func (r *routing) addListener(l *encoded) {
	if _, taken := r.listeners[l.name]; !taken {
		r.listeners[l.name] = l
		r.listenerList = append(r.listenerList, l)
	}
}

// noteGone adds to gone the listeners of r that next lacks.
func (r *routing) noteGone(next *routing, gone map[string]struct{}) {
	for name := range r.listeners {
		if _, stays := next.listeners[name]; !stays {
			gone[name] = struct{}{}
		}
	}
}

// route returns a route configuration as proxies of a namespace see it.
func (r *routing) route(name, namespace string) *encoded {
	key := routeKey{name: name, namespace: namespace}
	r.memo.mu.Lock()
	defer r.memo.mu.Unlock()
	e, ok := r.memo.routes[key]
	if !ok {
		e = generateRoute(&encoder{}, name, namespace, r.targets[name])
		r.memo.routes[key] = e
	}
	return e
}

func (r *routing) routes(names []string, namespace string) *bundle {
	list := make([]*encoded, 0, len(names))
	for _, name := range names {
		list = append(list, r.route(name, namespace))
	}
	return newBundle(list)
}

// routesOfSet returns the routes of a whole subscription, built once for the
// proxies of a namespace that share it.
func (r *routing) routesOfSet(set *nameSet, namespace string) *bundle {
	key := routeSetKey{set: set, namespace: namespace}
	r.memo.mu.Lock()
	b, ok := r.memo.sets[key]
	r.memo.mu.Unlock()
	if ok {
		return b
	}
	b = r.routes(set.names, namespace)
	r.memo.mu.Lock()
	defer r.memo.mu.Unlock()
	r.memo.sets[key] = b
	return b
}

// inboundOf returns the inbound configuration of a workload; w is nil for a
// proxy whose pod is not known.
func (r *routing) inboundOf(w *workload) *inbound {
	var key string
	if w != nil {
		key = w.key
	}
	r.memo.mu.Lock()
	defer r.memo.mu.Unlock()
	in, ok := r.memo.inbound[key]
	if !ok {
		in = r.newInbound(w)
		r.memo.inbound[key] = in
	}
	return in
}

func (r *routing) newInbound(w *workload) *inbound {
	enc := &encoder{}
	ports := r.inboundPorts(w)
	in := &inbound{listener: generateVirtualInbound(enc, ports)}
	for _, port := range ports {
		in.clusters = append(in.clusters, generateInboundCluster(enc, port))
	}
	return in
}

// inboundPorts lists the ports of w that services lead to, each once.
func (r *routing) inboundPorts(w *workload) []inboundPort {
	if w == nil {
		return nil
	}
	var out []inboundPort
	seen := make(map[uint32]struct{})
	for _, s := range r.byNS[w.namespace] {
		if !w.selectedBy(s) {
			continue
		}
		for _, port := range s.ports {
			number := w.port(port)
			if _, taken := seen[number]; taken || number == 0 {
				continue
			}
			seen[number] = struct{}{}
			out = append(out, inboundPort{
				number: number, servicePort: port.number, service: s, protocol: port.protocol,
			})
		}
	}
	return out
}

// clusterBundle returns all clusters of a proxy.
func (r *routing) clusterBundle(in *inbound) *bundle {
	r.memo.mu.Lock()
	defer r.memo.mu.Unlock()
	b, ok := r.memo.clusters[in]
	if !ok {
		b = newBundle(r.clusterList, in.clusters)
		r.memo.clusters[in] = b
	}
	return b
}

// listenerBundle returns all listeners of a proxy.
func (r *routing) listenerBundle(in *inbound) *bundle {
	r.memo.mu.Lock()
	defer r.memo.mu.Unlock()
	b, ok := r.memo.listener[in]
	if !ok {
		b = newBundle(r.listenerList, []*encoded{in.listener})
		r.memo.listener[in] = b
	}
	return b
}
