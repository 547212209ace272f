package fakeproxy

import (
	"slices"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// silence is how long a new stream may say nothing before a proxy that holds
// everything already takes itself for ready.
const silence = 2 * time.Second

// wait is a set of children whose initial fetch ends together. A later wait
// for the same name takes its place.
type wait struct {
	of    xds.Type
	names *nameSet
	until event.Time
}

type ttlKey struct {
	of   xds.Type
	name string
}

// await starts the initial fetch timeout of children. Needs mu.
func (p *proxy) await(t xds.Type, names *nameSet, now event.Time) {
	p.waits = slices.DeleteFunc(p.waits, func(w wait) bool { return p.nodes[w.of].warming.len() == 0 })
	if len(p.waits) == 0 {
		p.waits = nil
	}
	d := p.fleet.cfg.Spec.InitialFetchTimeout.Duration
	if d == 0 || names.len() == 0 {
		return
	}
	until := now.Add(d)
	p.waits = append(p.waits, wait{t, names, until})
	p.fleet.warden.schedule(until, p)
}

// live starts the times to live of resources anew. Needs mu.
func (p *proxy) live(ttls []ttl, now event.Time) {
	for _, t := range ttls {
		if p.ttls == nil {
			p.ttls = make(map[ttlKey]event.Time)
		}
		until := now.Add(t.d)
		p.ttls[ttlKey{t.of, t.name}] = until
		p.fleet.warden.schedule(until, p)
	}
}

// due does what the time has come for. The warden calls it.
func (p *proxy) due(now event.Time) {
	p.mu.Lock()
	p.expireWaits(now)
	events := p.expireTTLs(now)
	if quiet := p.heard.Add(silence); p.out != nil && !p.ready && p.complete() {
		if now < quiet {
			p.fleet.warden.schedule(quiet, p)
		} else if p.becomeReady(true) {
			events = append(events, p.silentlyReady(now)...)
		}
	}
	p.mu.Unlock()
	p.emit(events...)
}

// silentlyReady makes a proxy count as connected and ready. Needs mu.
func (p *proxy) silentlyReady(now event.Time) []*event.ProxyEvent {
	var events []*event.ProxyEvent
	if !p.connected {
		p.connected = true
		p.connectedBy(1)
		events = append(events, &event.ProxyEvent{Proxy: p.index, Kind: event.Connected, At: now})
	}
	p.fall(HalfOpenFromReady)
	p.fleet.count.ready.Add(1)
	return append(events, p.readyEvent(now))
}

// expireWaits ends initial fetches that took too long: the cluster becomes
// active without endpoints, the listener without the route. Needs mu.
func (p *proxy) expireWaits(now event.Time) {
	for len(p.waits) > 0 && p.waits[0].until <= now {
		w := p.waits[0]
		p.waits = p.waits[1:]
		late := w.names.names
		for _, later := range p.waits {
			if later.of == w.of {
				late = difference(late, later.names.names)
			}
		}
		n := p.nodes[w.of]
		late = slices.DeleteFunc(slices.Clone(late), func(name string) bool { return !n.warming.has(name) })
		if len(late) == 0 {
			continue
		}
		t := p.fleet.table
		p.nodes[w.of] = t.node(n.names, n.held.without(t, late),
			t.nameSet(difference(n.warming.names, late)), t.nameSet(union(n.expired.names, late)))
		p.fleet.count.expired.Add(int64(len(late)))
	}
}

// expireTTLs removes resources that were not refreshed in time. Needs mu.
func (p *proxy) expireTTLs(now event.Time) []*event.ProxyEvent {
	gone := map[xds.Type][]string{}
	for k, until := range p.ttls {
		if until > now {
			continue
		}
		delete(p.ttls, k)
		if it := p.nodes[k.of].held.find(k.name); it != nil && it.ttl > 0 {
			gone[k.of] = append(gone[k.of], k.name)
		}
	}
	var events []*event.ProxyEvent
	for t, names := range gone {
		slices.Sort(names)
		p.nodes[t] = p.fleet.table.drop(p.nodes[t], t, names)
		events = append(events, p.follow(t, p.fleet.table.noNames, now)...)
	}
	return events
}

// drop moves n as if the server had removed resources.
func (t *table) drop(n *node, typ xds.Type, names []string) *node {
	// As Delta, where what a response does not name stays.
	_, next := t.apply(n, &incoming{typ: typ, variant: xds.Delta, removed: names})
	return next
}

// Stuck is a resource that did not arrive within the initial fetch timeout.
type Stuck struct {
	Proxy int    `json:"proxy"`
	Node  string `json:"node"`
	// Type is the short name, such as "eds"; Name is the resource awaited, "*"
	// for all scoped routes, and Parents are the resources that name it.
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Parents []string `json:"parents"`
}

// Stuck lists, proxy by proxy, what did not arrive in time and has not since.
func (f *Fleet) Stuck() []Stuck {
	var all []Stuck
	for _, p := range f.proxies {
		p.mu.Lock()
		nodes := p.nodes
		p.mu.Unlock()
		for i, n := range nodes {
			t := xds.Type(i)
			for _, name := range n.expired.names {
				s := Stuck{Proxy: p.index, Node: p.id.ID, Type: t.String(), Name: name}
				for _, parent := range parentsOf(t) {
					s.Parents = append(s.Parents, nodes[parent].held.parentsOf(t, name)...)
				}
				all = append(all, s)
			}
		}
	}
	return all
}

// parentsOf lists the resources that name a child.
func (v *view) parentsOf(t xds.Type, name string) []string {
	var names []string
	for _, it := range v.items {
		if it.body.names(t, name) {
			names = append(names, it.name)
		}
	}
	return names
}
