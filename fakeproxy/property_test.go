package fakeproxy_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// newModel starts a model server and its one client.
func newModel(t *testing.T, v event.Variant) *model {
	t.Helper()
	m := &model{
		t: t, variant: v, srv: adstest.Start(t),
		truth: map[string]map[string]versioned{}, held: map[string]map[string]string{},
		sub: map[string][]string{}, accepted: map[string]string{},
	}
	for _, url := range allURLs {
		m.truth[url], m.held[url] = map[string]versioned{}, map[string]string{}
	}
	m.fleet = start(t, config(m.srv.Addr, v, 1, fetchTimeout(0), func(c *fakeproxy.Config) { c.KeepBytes = true }))
	m.stream = m.srv.Accept(t)
	m.hello(m.stream.Expect(adstest.CDS))
	m.hello(m.stream.Expect(adstest.LDS))
	return m
}

func (m *model) stop() {
	m.fleet.stop()
	m.srv.Stop()
}

// change draws a change of the truth, and returns the type and name it concerns;
// removed says that it is gone.
func (m *model) change(r *rapid.T) (url, name string, removed bool) {
	n, rev := rapid.IntRange(0, 3).Draw(r, "n"), rapid.IntRange(1, 5).Draw(r, "rev")
	name = fmt.Sprintf("c%d", n)
	switch rapid.IntRange(0, 6).Draw(r, "change") {
	case 0:
		service := fmt.Sprintf("e%d", rapid.IntRange(0, 3).Draw(r, "service"))
		return adstest.CDS, m.set(adstest.CDS, adstest.Cluster(name, service, time.Duration(rev)*time.Second), service), false
	case 1:
		_, there := m.truth[adstest.CDS][name]
		delete(m.truth[adstest.CDS], name)
		return adstest.CDS, name, there
	case 2, 3:
		e := adstest.Endpoints(fmt.Sprintf("e%d", n), fmt.Sprintf("10.0.0.%d:80", rev))
		return adstest.EDS, m.set(adstest.EDS, e), false
	case 4:
		route := fmt.Sprintf("r%d", rev%3)
		return adstest.LDS, m.set(adstest.LDS, adstest.Listener(name, route, "r0"), route, "r0"), false
	case 5:
		_, there := m.truth[adstest.LDS][name]
		delete(m.truth[adstest.LDS], name)
		return adstest.LDS, name, there
	default:
		return adstest.RDS, m.set(adstest.RDS, adstest.Route(fmt.Sprintf("r%d", rev%3), fmt.Sprintf("%d.example", n))), false
	}
}

// apply makes one change and tells the client.
func (m *model) apply(r *rapid.T) {
	url, name, removed := m.change(r)
	switch _, there := m.truth[url][name]; {
	case removed:
		m.push(url, nil, []string{name})
	case there:
		m.announce(url, name)
	}
}

// Any interleaving of adds, updates, removals, rejected updates and reconnects
// leaves the client with the server's state.
func TestClientEndsWithTheServersState(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				m := newModel(t, v)
				defer m.stop()
				r.Repeat(map[string]func(*rapid.T){
					"change": m.apply,
					"update": m.apply,
					"reject": func(*rapid.T) { m.reject() },
					"reconnect": func(r *rapid.T) {
						m.reconnect(func() {
							for range rapid.IntRange(0, 3).Draw(r, "meanwhile") {
								m.change(r)
							}
						})
					},
					"": func(*rapid.T) { m.check() },
				})
			})
		})
	}
}
