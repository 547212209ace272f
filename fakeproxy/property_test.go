package fakeproxy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// edit is a change of one resource; without one it is a removal.
type edit struct {
	url, name string
	resource  proto.Message
	children  map[string][]string
}

func drawEdit(r *rapid.T) edit {
	n, rev := rapid.IntRange(0, 3).Draw(r, "n"), rapid.IntRange(1, 5).Draw(r, "rev")
	name := func(kind string) string { return fmt.Sprint(kind, n) }
	switch rapid.IntRange(0, 11).Draw(r, "edit") {
	case 0:
		service := fmt.Sprint("e", rapid.IntRange(0, 3).Draw(r, "service"))
		return edit{
			adstest.CDS, name("c"), makeCluster(name("c"), service, time.Duration(rev)*time.Second),
			map[string][]string{adstest.EDS: {service}},
		}
	case 1:
		secret := fmt.Sprint("s", rev%2)
		return edit{
			adstest.CDS, name("c"), makeTLSCluster(name("c"), time.Duration(rev)*time.Second, "default", secret),
			map[string][]string{adstest.EDS: {name("c")}, adstest.SDS: {secret}},
		}
	case 2:
		return edit{url: adstest.CDS, name: name("c")}
	case 3, 4:
		service := fmt.Sprint(rapid.SampledFrom([]string{"e", "c"}).Draw(r, "service kind"), n)
		return edit{adstest.EDS, service, makeEndpoints(service, fmt.Sprintf("10.0.0.%d:80", rev)), nil}
	case 5, 6:
		return drawListener(r, name("l"), rev)
	case 7:
		return edit{url: adstest.LDS, name: name("l")}
	case 8:
		route := fmt.Sprint("r", rev%3)
		return edit{adstest.SRDS, name("scope"), makeScope(name("scope"), route), map[string][]string{adstest.RDS: {route}}}
	case 9:
		return edit{url: adstest.SRDS, name: name("scope")}
	case 10:
		return edit{adstest.RDS, fmt.Sprint("r", rev%3), makeRoute(fmt.Sprint("r", rev%3), fmt.Sprintf("%d.example", n)), nil}
	default:
		if rev%2 == 0 {
			return edit{adstest.ECDS, name("x"), makeExtension(name("x"), fmt.Sprint(rev)), nil}
		}
		return edit{adstest.SDS, fmt.Sprint("s", n%2), makeSecret(fmt.Sprint("s", n%2), fmt.Sprint(rev)), nil}
	}
}

func drawListener(r *rapid.T, name string, rev int) edit {
	l := makeListener(name, fmt.Sprint("r", rev%3), "r0")
	e := edit{adstest.LDS, name, l, map[string][]string{adstest.RDS: {fmt.Sprint("r", rev%3), "r0"}}}
	switch rapid.IntRange(0, 3).Draw(r, "listener") {
	case 0:
		l.FilterChains = append(l.FilterChains, makeTLSChain("s0"))
		e.children[adstest.SDS] = []string{"s0"}
	case 1:
		l.FilterChains = append(l.FilterChains, makeFilterChain("x0", "x1"))
		e.children[adstest.ECDS] = []string{"x0", "x1"}
	case 2:
		l.FilterChains = append(l.FilterChains, makeScopedChain())
		e.children[adstest.SRDS] = []string{"*"}
	}
	return e
}

// change makes an edit without telling the client, and reports whether it is
// one.
func (m *model) change(e edit) bool {
	if e.resource == nil {
		_, there := m.truth[e.url][e.name]
		delete(m.truth[e.url], e.name)
		return there
	}
	m.truth[e.url][e.name] = versioned{e.resource, m.next(), e.children}
	return true
}

// apply makes an edit and tells the client.
func (m *model) apply(e edit) {
	if !m.change(e) || !m.asked(e.url, e.name) {
		return
	}
	if e.resource == nil {
		m.push(e.url, nil, []string{e.name})
		return
	}
	m.push(e.url, []string{e.name}, nil)
}

// same compares what two clients hold, ask for and wait for.
func same(t *testing.T, a, b *model) {
	t.Helper()
	x, y := a.fleet.Dump(0), b.fleet.Dump(0)
	content := func(a, b fakeproxy.ResourceDump) bool { return a.Name == b.Name && slices.Equal(a.Content, b.Content) }
	for i, p := range x.Types {
		q := y.Types[i]
		if p.Asked != q.Asked || !slices.Equal(p.Subscription, q.Subscription) || !slices.Equal(p.Warming, q.Warming) ||
			!slices.EqualFunc(p.Resources, q.Resources, content) {
			t.Fatalf("%s differs: %s has %+v, %s has %+v", p.Type, a.variant, p, b.variant, q)
		}
	}
}

// Any interleaving of adds, updates, removals, rejected updates and reconnects
// leaves the clients of both variants with the server's state, and with the
// same subscriptions.
func TestClientsEndWithTheServersStateAndEqualSubscriptions(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		models := []*model{newModel(t, xds.SotW), newModel(t, xds.Delta)}
		for _, m := range models {
			defer m.stop()
		}
		apply := func(r *rapid.T) {
			e := drawEdit(r)
			for _, m := range models {
				m.apply(e)
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"add": apply, "update": apply, "replace": apply,
			"reject": func(*rapid.T) {
				for _, m := range models {
					m.reject()
				}
			},
			"reconnect": func(r *rapid.T) {
				var edits []edit
				for range rapid.IntRange(0, 3).Draw(r, "meanwhile") {
					edits = append(edits, drawEdit(r))
				}
				for _, m := range models {
					m.reconnect(func() {
						for _, e := range edits {
							m.change(e)
						}
					})
				}
			},
			"": func(*rapid.T) {
				for _, m := range models {
					m.check()
				}
				same(t, models[0], models[1])
			},
		})
	})
}
