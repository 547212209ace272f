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

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// versioned is a resource of the model server.
type versioned struct {
	message proto.Message
	version string
	child   []string // names it asks for
}

// model is an ADS server with one client, whose state is known exactly.
type model struct {
	t       *testing.T
	variant event.Variant
	srv     *adstest.Server
	fleet   *running
	stream  *adstest.Stream
	serial  int

	truth    map[string]map[string]versioned // by type URL and name
	sub      map[string][]string             // sorted, as the client told
	held     map[string]map[string]string    // versions the client has accepted
	accepted map[string]string               // version of the last accepted response
}

var childURL = map[string]string{adstest.CDS: adstest.EDS, adstest.LDS: adstest.RDS}

var allURLs = []string{adstest.CDS, adstest.EDS, adstest.LDS, adstest.RDS}

func (m *model) next() string {
	m.serial++
	return fmt.Sprint(m.serial)
}

// set changes the truth without telling the client.
func (m *model) set(url string, r proto.Message, child ...string) string {
	m.truth[url][adstest.Name(r)] = versioned{r, m.next(), child}
	return adstest.Name(r)
}

// wanted are the children that the truth's parents name.
func (m *model) wanted(root string) []string {
	var names []string
	for _, v := range m.truth[root] {
		names = append(names, v.child...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// push sends the named resources, or in SotW of a root type all of them.
func (m *model) push(url string, names, removed []string) {
	nonce := m.next()
	_, root := childURL[url]
	if m.variant == event.SotW && root {
		names = slices.Sorted(maps.Keys(m.truth[url]))
		m.held[url] = map[string]string{}
	}
	var resources []proto.Message
	d := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: url, Nonce: "n-" + nonce, RemovedResources: removed}
	for _, n := range names {
		v := m.truth[url][n]
		resources = append(resources, v.message)
		d.Resources = append(d.Resources, &discoveryv3.Resource{Name: n, Version: v.version, Resource: adstest.Any(v.message)})
		m.held[url][n] = v.version
	}
	for _, n := range removed {
		delete(m.held[url], n)
	}
	if m.variant == event.SotW {
		m.stream.Send(adstest.SotW(url, nonce, resources...))
	} else {
		m.stream.Send(d)
	}
	m.acked(url, nonce)
	m.accepted[url] = nonce
	if root {
		m.follow(url, names)
	}
}

// acked waits for the ACK of a nonce.
func (m *model) acked(url, nonce string) {
	r := m.stream.Expect(url)
	m.told(r)
	if r.Nonce != "n-"+nonce || r.Error != "" {
		m.t.Fatalf("got %+v, want an ACK of n-%s", r, nonce)
	}
}

// told notes the subscription that a request tells.
func (m *model) told(r adstest.Request) {
	if _, root := childURL[r.TypeURL]; root {
		if len(r.Names)+len(r.Unsubscribe) > 0 {
			m.t.Fatalf("a wildcard request names %q, %q", r.Names, r.Unsubscribe)
		}
		return
	}
	names := r.Names
	if m.variant == event.Delta {
		names = append(slices.Clone(m.sub[r.TypeURL]), r.Names...)
		names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(r.Unsubscribe, n) })
	}
	slices.Sort(names)
	m.sub[r.TypeURL] = slices.Compact(names)
}

// follow takes the request by which the client adapts its subscription to new
// parents, and sends what it asks for and what warms changed clusters.
func (m *model) follow(root string, changed []string) {
	url, before := childURL[root], m.sub[childURL[root]]
	wanted := m.wanted(root)
	if !slices.Equal(before, wanted) {
		m.told(m.stream.Expect(url))
	}
	if !slices.Equal(m.sub[url], wanted) {
		m.t.Fatalf("%s subscription %q, want %q", url, m.sub[url], wanted)
	}
	for n := range m.held[url] {
		if !slices.Contains(wanted, n) {
			delete(m.held[url], n)
		}
	}
	var send []string
	for _, n := range wanted {
		fresh := !slices.Contains(before, n)
		warms := root == adstest.CDS && slices.ContainsFunc(changed, func(c string) bool {
			return slices.Contains(m.truth[root][c].child, n)
		})
		if _, ok := m.truth[url][n]; ok && (fresh || warms) {
			send = append(send, n)
		}
	}
	if len(send) > 0 {
		m.push(url, send, nil)
	}
}

// announce pushes one changed resource if the client subscribes to it.
func (m *model) announce(url, name string) {
	_, root := childURL[url]
	if root || slices.Contains(m.sub[url], name) {
		m.push(url, []string{name}, nil)
	}
}

// reject sends an invalid update and takes its NACK.
func (m *model) reject() {
	nonce := m.next()
	bad := &clusterv3.Cluster{Name: "c0", AltStatName: "bad", ConnectTimeout: adstest.Cluster("", "", -time.Second).ConnectTimeout}
	if m.variant == event.SotW {
		m.stream.Send(adstest.SotW(adstest.CDS, nonce, bad))
	} else {
		m.stream.Send(adstest.Delta(adstest.CDS, nonce, bad))
	}
	r := m.stream.Expect(adstest.CDS)
	if r.Error == "" || r.Nonce != "n-"+nonce || m.variant == event.SotW && r.Version != m.accepted[adstest.CDS] {
		m.t.Fatalf("got %+v, want a NACK of n-%s at version %q", r, nonce, m.accepted[adstest.CDS])
	}
}

// reconnect breaks the stream, changes the truth, and brings the client up to
// date on the new one.
func (m *model) reconnect(meanwhile func()) {
	asked := map[string]bool{adstest.CDS: true, adstest.LDS: true}
	for root, child := range childURL {
		asked[child] = len(m.wanted(root)) > 0
	}
	meanwhile()
	m.stream.End(nil)
	m.stream = m.srv.Accept(m.t)
	clear(m.sub)
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
	m.told(r)
	if m.variant == event.SotW && (r.Version != m.accepted[r.TypeURL] || r.Nonce != "") {
		m.t.Fatalf("first request %+v, want version %q and no nonce", r, m.accepted[r.TypeURL])
	}
	if m.variant == event.Delta && !maps.Equal(r.Initial, m.held[r.TypeURL]) {
		m.t.Fatalf("%s: initial versions %v, want %v", r.TypeURL, r.Initial, m.held[r.TypeURL])
	}
}

// catchUp sends what differs from what the client holds.
func (m *model) catchUp(url string) {
	_, root := childURL[url]
	var names, removed []string
	for n, v := range m.truth[url] {
		if (root || slices.Contains(m.sub[url], n)) && m.held[url][n] != v.version {
			names = append(names, n)
		}
	}
	for n := range m.held[url] {
		if _, ok := m.truth[url][n]; !ok {
			removed = append(removed, n)
		}
	}
	if m.variant == event.SotW {
		removed = nil
	}
	if len(names)+len(removed) > 0 || root {
		m.push(url, names, removed)
	}
}

// check compares what the client holds with the truth.
func (m *model) check() {
	for i, td := range m.fleet.Dump(0).Types {
		url := allURLs[i]
		want := map[string]versioned{}
		for n, v := range m.truth[url] {
			if _, root := childURL[url]; root || slices.Contains(m.sub[url], n) {
				want[n] = v
			}
		}
		for _, r := range td.Resources {
			w, ok := want[r.Name]
			if !ok || !bytes.Equal(r.Content, marshal(m.t, adstest.Any(w.message))) ||
				m.variant == event.Delta && r.Version != w.version {
				m.t.Fatalf("%s: holds %q version %q, want version %q (wanted at all: %v)", td.Type, r.Name, r.Version, w.version, ok)
			}
			delete(want, r.Name)
		}
		if len(want) > 0 {
			m.t.Fatalf("%s: lacks %v", td.Type, slices.Sorted(maps.Keys(want)))
		}
	}
}
