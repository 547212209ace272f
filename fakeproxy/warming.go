package fakeproxy

import (
	"slices"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/resource"
)

// quietTime is how long a new stream may say nothing before a proxy that holds
// everything already takes itself for ready.
const quietTime = 2 * time.Second

// fetch is a set of children whose initial fetch timeout ends together. A later one
// for the same name takes its place.
type fetch struct {
	of    xds.Type
	names *resource.NameSet
	until event.Time
}

type ttlKey struct {
	of   xds.Type
	name string
}

// startFetchTimeout starts the initial fetch timeout of children. Needs mu.
func (p *proxy) startFetchTimeout(t xds.Type, names *resource.NameSet, now event.Time) {
	p.fetches = slices.DeleteFunc(p.fetches, func(f fetch) bool { return p.states[f.of].Warming.Len() == 0 })
	if len(p.fetches) == 0 {
		p.fetches = nil
	}
	d := p.fleet.cfg.Spec.InitialFetchTimeout.Duration
	if d == 0 || names.Len() == 0 {
		return
	}
	until := now.Add(d)
	p.fetches = append(p.fetches, fetch{t, names, until})
	p.fleet.timers.set(until, p)
}

// startTTLs starts the times to live of resources anew. Needs mu.
func (p *proxy) startTTLs(ttls []resource.TTL, now event.Time) {
	for _, t := range ttls {
		if p.ttls == nil {
			p.ttls = make(map[ttlKey]event.Time)
		}
		until := now.Add(t.For)
		p.ttls[ttlKey{t.Type, t.Name}] = until
		p.fleet.timers.set(until, p)
	}
}

// onTimer does what the time has come for.
func (p *proxy) onTimer(now event.Time) {
	p.mu.Lock()
	p.expireFetches(now)
	events := p.expireTTLs(now)
	if p.isReady(true) {
		if until := p.quietSince.Add(quietTime); now < until {
			p.fleet.timers.set(until, p)
		} else {
			if !p.connected {
				events = append(events, p.markConnected(now))
			}
			events = append(events, p.markReady(now))
		}
	}
	p.mu.Unlock()
	p.emit(events...)
}

// expireFetches ends initial fetches that took too long: the cluster becomes
// active without endpoints, the listener without the route. Needs mu.
func (p *proxy) expireFetches(now event.Time) {
	for len(p.fetches) > 0 && p.fetches[0].until <= now {
		f := p.fetches[0]
		p.fetches = p.fetches[1:]
		s := p.states[f.of]
		late := slices.DeleteFunc(slices.Clone(f.names.Names), func(name string) bool {
			return !s.Warming.Has(name) || slices.ContainsFunc(p.fetches, func(later fetch) bool {
				return later.of == f.of && later.names.Has(name)
			})
		})
		if len(late) == 0 {
			continue
		}
		p.states[f.of] = p.fleet.table.Expire(s, late)
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
		if it := p.states[k.of].Held.Find(k.name); it != nil && it.TTL > 0 {
			gone[k.of] = append(gone[k.of], k.name)
		}
	}
	var events []*event.ProxyEvent
	for t, names := range gone {
		slices.Sort(names)
		p.states[t] = p.fleet.table.Remove(p.states[t], t, names)
		events = append(events, p.subscribeToChildren(t, p.fleet.table.NoNames, now)...)
	}
	return events
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
		states := p.states
		p.mu.Unlock()
		for i, of := range states {
			t := xds.Type(i)
			for _, name := range of.Expired.Names {
				s := Stuck{Proxy: p.index, Node: p.id.ID, Type: t.String(), Name: name}
				for _, parent := range t.Parents() {
					s.Parents = append(s.Parents, states[parent].Held.Naming(t, name)...)
				}
				all = append(all, s)
			}
		}
	}
	return all
}
