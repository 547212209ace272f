package fakeproxy_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// versioned is a resource of the model server.
type versioned struct {
	message  proto.Message
	version  string
	children map[string][]string // names that it gives, by type URL
}

// model is an ADS server with one client, whose state is known exactly.
type model struct {
	t       *testing.T
	variant xds.Variant
	srv     *adstest.Server
	fleet   *fleet
	stream  *adstest.Stream
	serial  int

	truth    map[string]map[string]versioned // by type URL and name
	sub      map[string][]string             // sorted, as the client asked
	held     map[string]map[string]versioned // what the client has accepted
	accepted map[string]string               // version of the last accepted response
}

// allURLs are the types of Envoy, each after those that name it.
var allURLs = []string{adstest.CDS, adstest.LDS, adstest.SRDS, adstest.EDS, adstest.RDS, adstest.SDS, adstest.ECDS}

// childURLs are the types that resources of a type name.
var childURLs = map[string][]string{
	adstest.CDS:  {adstest.EDS, adstest.SDS},
	adstest.LDS:  {adstest.SRDS, adstest.RDS, adstest.SDS, adstest.ECDS},
	adstest.SRDS: {adstest.RDS},
}

func isRoot(url string) bool { return url == adstest.CDS || url == adstest.LDS }

func isWhole(url string) bool { return isRoot(url) || url == adstest.SRDS }

// newModel starts a model server and its one client.
func newModel(t *testing.T, v xds.Variant) *model {
	t.Helper()
	m := &model{
		t: t, variant: v, srv: adstest.Start(t),
		truth: map[string]map[string]versioned{}, held: map[string]map[string]versioned{},
		sub: map[string][]string{}, accepted: map[string]string{},
	}
	for _, url := range allURLs {
		m.truth[url], m.held[url] = map[string]versioned{}, map[string]versioned{}
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

func (m *model) next() string {
	m.serial++
	return fmt.Sprint(m.serial)
}

// wanted are the names of a type that what the client holds gives.
func (m *model) wanted(url string) []string {
	var names []string
	for _, resources := range m.held {
		for _, v := range resources {
			names = append(names, v.children[url]...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// asked reports whether the client wants a resource.
func (m *model) asked(url, name string) bool {
	return isRoot(url) || slices.Contains(m.sub[url], name) || url == adstest.SRDS && len(m.sub[url]) > 0
}

// push sends the named resources, or in SotW of a whole type all of them.
func (m *model) push(url string, names, removed []string) {
	nonce := m.next()
	if m.variant == xds.SotW && isWhole(url) {
		names = slices.Sorted(maps.Keys(m.truth[url]))
		m.held[url] = map[string]versioned{}
	}
	var resources []proto.Message
	d := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: url, Nonce: "n-" + nonce, RemovedResources: removed}
	for _, n := range names {
		v := m.truth[url][n]
		resources = append(resources, v.message)
		d.Resources = append(d.Resources, &discoveryv3.Resource{Name: n, Version: v.version, Resource: adstest.Any(v.message)})
		m.held[url][n] = v
	}
	for _, n := range removed {
		delete(m.held[url], n)
	}
	if m.variant == xds.SotW {
		m.stream.Send(adstest.SotW(url, nonce, resources...))
	} else {
		m.stream.Send(d)
	}
	m.acked(url, nonce)
	m.accepted[url] = nonce
	m.follow(url, names)
}

// acked waits for the ACK of a nonce.
func (m *model) acked(url, nonce string) {
	r := m.stream.Expect(url)
	m.noteSubscription(r)
	if r.Nonce != "n-"+nonce || r.Error != "" {
		m.t.Fatalf("got %+v, want an ACK of n-%s", r, nonce)
	}
}

// noteSubscription notes the subscription that a request has.
func (m *model) noteSubscription(r adstest.Request) {
	if isWhole(r.TypeURL) {
		m.toldWhole(r)
		return
	}
	names := r.Names
	if m.variant == xds.Delta {
		names = append(slices.Clone(m.sub[r.TypeURL]), r.Names...)
		names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(r.Unsubscribe, n) })
	}
	slices.Sort(names)
	m.sub[r.TypeURL] = slices.Compact(names)
}

// toldWhole notes a request for a type as a whole: it names nothing, unless it
// ends the subscription or takes it up again.
func (m *model) toldWhole(r adstest.Request) {
	named := append(slices.Clone(r.Names), r.Unsubscribe...)
	if len(named) > 0 && (isRoot(r.TypeURL) || m.variant == xds.SotW || !slices.Equal(named, []string{"*"})) {
		m.t.Fatalf("a wildcard request names %q, %q", r.Names, r.Unsubscribe)
	}
	switch {
	case isRoot(r.TypeURL):
	case len(r.Unsubscribe) > 0:
		m.sub[r.TypeURL] = nil
	case r.Nonce == "" || m.variant == xds.SotW:
		m.sub[r.TypeURL] = []string{"*"}
	}
}

// follow takes the requests by which the client adapts what it asks for to what
// it holds, and sends what it asks for and what warms changed clusters.
func (m *model) follow(parent string, changed []string) {
	scopes := false
	for _, url := range childURLs[parent] {
		before, wanted := m.sub[url], m.wanted(url)
		if !slices.Equal(before, wanted) {
			if m.variant == xds.SotW && url == adstest.SRDS && len(wanted) == 0 {
				m.sub[url] = nil // no request can tell
			} else {
				m.noteSubscription(m.stream.Expect(url))
			}
		}
		if !slices.Equal(m.sub[url], wanted) {
			m.t.Fatalf("%s subscription %q, want %q", url, m.sub[url], wanted)
		}
		maps.DeleteFunc(m.held[url], func(n string, _ versioned) bool { return !m.asked(url, n) })
		if url == adstest.SRDS {
			scopes = len(before) == 0 && len(wanted) > 0
			if len(before) > 0 && len(wanted) == 0 {
				m.follow(url, nil)
			}
			continue
		}
		var send []string
		for _, n := range wanted {
			fresh := !slices.Contains(before, n)
			warms := url == adstest.EDS && slices.ContainsFunc(changed, func(c string) bool {
				return slices.Contains(m.truth[parent][c].children[url], n)
			})
			if _, ok := m.truth[url][n]; ok && (fresh || warms) {
				send = append(send, n)
			}
		}
		if len(send) > 0 {
			m.push(url, send, nil)
		}
	}
	if scopes {
		m.push(adstest.SRDS, slices.Sorted(maps.Keys(m.truth[adstest.SRDS])), nil)
	}
}

// reject sends an invalid update and takes its NACK.
func (m *model) reject() {
	nonce := m.next()
	bad := &clusterv3.Cluster{Name: "c0", AltStatName: "bad", ConnectTimeout: makeCluster("", "", -time.Second).ConnectTimeout}
	if m.variant == xds.SotW {
		m.stream.Send(adstest.SotW(adstest.CDS, nonce, bad))
	} else {
		m.stream.Send(adstest.Delta(adstest.CDS, nonce, bad))
	}
	r := m.stream.Expect(adstest.CDS)
	if r.Error == "" || r.Nonce != "n-"+nonce || m.variant == xds.SotW && r.Version != m.accepted[adstest.CDS] {
		m.t.Fatalf("got %+v, want a NACK of n-%s at version %q", r, nonce, m.accepted[adstest.CDS])
	}
}

// reconnect breaks the stream, changes the truth, and brings the client up to
// date on the new one.
func (m *model) reconnect(meanwhile func()) {
	asked := map[string]bool{}
	for _, url := range allURLs {
		asked[url] = isRoot(url) || len(m.sub[url]) > 0
	}
	m.stream.End(nil)
	meanwhile()
	m.sub = map[string][]string{}
	m.stream = m.srv.Accept(m.t)
	for _, url := range allURLs {
		if asked[url] {
			m.hello(m.stream.Expect(url))
		}
	}
	for _, url := range allURLs {
		m.catchUp(url)
	}
}

// hello checks the first request for a type on a new stream.
func (m *model) hello(r adstest.Request) {
	m.noteSubscription(r)
	if m.variant == xds.SotW && (r.Version != m.accepted[r.TypeURL] || r.Nonce != "") {
		m.t.Fatalf("first request %+v, want version %q and no nonce", r, m.accepted[r.TypeURL])
	}
	held := map[string]string{}
	for n, v := range m.held[r.TypeURL] {
		held[n] = v.version
	}
	if m.variant == xds.Delta && !maps.Equal(r.Initial, held) {
		m.t.Fatalf("%s: initial versions %v, want %v", r.TypeURL, r.Initial, held)
	}
}

// catchUp sends what differs from what the client holds.
func (m *model) catchUp(url string) {
	var names, removed []string
	for n, v := range m.truth[url] {
		if m.asked(url, n) && m.held[url][n].version != v.version {
			names = append(names, n)
		}
	}
	for n := range m.held[url] {
		if _, ok := m.truth[url][n]; !ok && m.variant == xds.Delta {
			removed = append(removed, n)
		}
	}
	if len(names)+len(removed) > 0 || isRoot(url) || isWhole(url) && len(m.sub[url]) > 0 {
		m.push(url, names, removed)
	}
}

// check compares what the client holds with the truth.
func (m *model) check() {
	for _, td := range m.fleet.Dump(0).Types[:len(allURLs)] {
		url := urlOf[td.Type]
		want := map[string]versioned{}
		for n, v := range m.truth[url] {
			if m.asked(url, n) {
				want[n] = v
			}
		}
		for _, r := range td.Resources {
			w, ok := want[r.Name]
			if !ok || !bytes.Equal(r.Content, marshal(m.t, adstest.Any(w.message))) ||
				m.variant == xds.Delta && r.Version != w.version {
				m.t.Fatalf("%s: holds %q version %q, want version %q (wanted at all: %v)", td.Type, r.Name, r.Version, w.version, ok)
			}
			delete(want, r.Name)
		}
		if len(want) > 0 {
			m.t.Fatalf("%s: lacks %v", td.Type, slices.Sorted(maps.Keys(want)))
		}
		if !isWhole(url) && !slices.Equal(td.Subscription, m.sub[url]) {
			m.t.Fatalf("%s: subscription %q, asked for was %q", td.Type, td.Subscription, m.sub[url])
		}
	}
}

var urlOf = map[string]string{
	"cds": adstest.CDS, "eds": adstest.EDS, "lds": adstest.LDS, "rds": adstest.RDS,
	"srds": adstest.SRDS, "sds": adstest.SDS, "ecds": adstest.ECDS,
}
