package fakeproxy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// want is every field of a request. A NACK is one with a code.
type want struct {
	url, version, nonce string
	names, unsubscribe  []string
	initial             map[string]string
	code                codes.Code
	node                bool
}

// check compares field by field the next requests of a stream, in their order.
func check(t *testing.T, s *adstest.Stream, what string, wants ...want) {
	t.Helper()
	for i, w := range wants {
		r := s.Next()
		got := want{
			r.TypeURL, r.Version, r.Nonce, slices.Sorted(slices.Values(r.Names)), slices.Sorted(slices.Values(r.Unsubscribe)),
			r.Initial, r.Code, r.Node != nil,
		}
		if got.url != w.url || got.version != w.version || got.nonce != w.nonce || got.code != w.code || got.node != w.node ||
			!slices.Equal(got.names, w.names) || !slices.Equal(got.unsubscribe, w.unsubscribe) || !maps.Equal(got.initial, w.initial) {
			t.Errorf("%s, request %d:\n got %+v\nwant %+v", what, i, got, w)
		}
		if (r.Error != "") != (w.code != codes.OK) || r.Node != nil && r.Node.GetId() != "sidecar~10.0.0.0~p0.ns~ns.svc.cluster.local" {
			t.Errorf("%s, request %d: error %q, node %v", what, i, r.Error, r.Node)
		}
	}
}

// script is a sequence that takes a proxy through all types, an update, a
// removal, a NACK and a reconnect. Each step says what is sent and what must
// come back.
type script struct {
	t *testing.T
	v xds.Variant
	s *adstest.Stream
}

func (c *script) send(url, version string, resources ...proto.Message) {
	c.t.Helper()
	c.s.Send(response(c.v, url, version, resources...))
}

// ack is the answer to a response: in SotW it repeats version and subscription.
func (c *script) ack(url, version string, names ...string) want {
	if c.v == xds.Delta {
		return want{url: url, nonce: "n-" + version}
	}
	return want{url: url, version: version, nonce: "n-" + version, names: names}
}

// more asks for further names after a response of a version was accepted; all
// are the names subscribed to then.
func (c *script) more(url, version string, fresh, gone, all []string) want {
	if c.v == xds.Delta {
		return want{url: url, names: fresh, unsubscribe: gone}
	}
	return want{url: url, version: version, nonce: "n-" + version, names: all}
}

// again is the first request for a type on a second stream.
func (c *script) again(url, version string, held, names []string) want {
	if c.v == xds.SotW {
		return want{url: url, version: version, names: names}
	}
	w := want{url: url, names: names, initial: map[string]string{}}
	for _, n := range held {
		name, at, _ := strings.Cut(n, "@")
		w.initial[name] = at
	}
	return w
}

// Every request of a scripted session is, field by field, what the rules give:
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol.
func TestRequestsOfAScriptedSessionAreWhatTheRulesGive(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			srv, f, s := one(t, v)
			c := &script{t, v, s}
			check(t, s, "first requests", want{url: adstest.CDS, node: true}, want{url: adstest.LDS})
			c.clusters()
			c.listeners()
			c.update()
			c.reject()
			c.remove()
			eventually(t, "ready", func() bool { return f.Counts().Ready == 1 })
			s.End(nil)
			c.s = srv.Accept(t)
			c.reconnected()
		})
	}
}

func (c *script) clusters() {
	c.send(adstest.CDS, "1", makeTLSCluster("a", time.Second, "s1", "ROOTCA"))
	check(c.t, c.s, "clusters", c.ack(adstest.CDS, "1"),
		want{url: adstest.EDS, names: []string{"a"}}, want{url: adstest.SDS, names: []string{"s1"}})
	c.send(adstest.EDS, "1", makeEndpoints("a", "10.0.0.1:80"))
	check(c.t, c.s, "endpoints", c.ack(adstest.EDS, "1", "a"))
	c.send(adstest.SDS, "1", makeSecret("s1", "one"))
	check(c.t, c.s, "secret", c.ack(adstest.SDS, "1", "s1"))
}

func (c *script) listeners() {
	l := makeListener("l", "r1")
	l.FilterChains = append(l.FilterChains, makeTLSChain("s1"), makeFilterChain("x"), makeScopedChain())
	c.send(adstest.LDS, "1", l)
	check(c.t, c.s, "listeners", c.ack(adstest.LDS, "1"), want{url: adstest.SRDS},
		want{url: adstest.RDS, names: []string{"r1"}}, want{url: adstest.ECDS, names: []string{"x"}})
	c.send(adstest.RDS, "1", makeRoute("r1", "one.example"))
	check(c.t, c.s, "route", c.ack(adstest.RDS, "1", "r1"))
	c.send(adstest.SRDS, "1", makeScope("scope", "r2"))
	check(c.t, c.s, "scopes", c.ack(adstest.SRDS, "1"), c.more(adstest.RDS, "1", []string{"r2"}, nil, []string{"r1", "r2"}))
	c.send(adstest.RDS, "2", makeRoute("r2", "two.example"))
	check(c.t, c.s, "second route", c.ack(adstest.RDS, "2", "r1", "r2"))
	c.send(adstest.ECDS, "1", makeExtension("x", "one"))
	check(c.t, c.s, "extension", c.ack(adstest.ECDS, "1", "x"))
}

// update adds a cluster and changes nothing of the other.
func (c *script) update() {
	a, b := makeTLSCluster("a", time.Second, "s1", "ROOTCA"), makeCluster("b", "b-eds", time.Second)
	c.send(adstest.CDS, "2", a, b)
	check(c.t, c.s, "added cluster", c.ack(adstest.CDS, "2"),
		c.more(adstest.EDS, "1", []string{"b-eds"}, nil, []string{"a", "b-eds"}))
	c.send(adstest.EDS, "2", makeEndpoints("b-eds", "10.0.0.2:80"))
	check(c.t, c.s, "endpoints of the added cluster", c.ack(adstest.EDS, "2", "a", "b-eds"))
}

func (c *script) reject() {
	c.send(adstest.CDS, "3", makeCluster("bad", "", -time.Second))
	nack := c.ack(adstest.CDS, "3")
	nack.code = codes.Internal
	if c.v == xds.SotW {
		nack.version = "2"
	}
	check(c.t, c.s, "rejected clusters", nack)
}

// remove takes away the first cluster, whose endpoints go with it; its secret
// is the listener's too.
func (c *script) remove() {
	if c.v == xds.SotW {
		c.send(adstest.CDS, "4", makeCluster("b", "b-eds", time.Second))
	} else {
		c.s.Send(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: adstest.CDS, Nonce: "n-4", RemovedResources: []string{"a"}})
	}
	check(c.t, c.s, "removed cluster", c.ack(adstest.CDS, "4"),
		c.more(adstest.EDS, "2", nil, []string{"a"}, []string{"b-eds"}))
}

// reconnected checks a second stream: the versions last accepted, all names, no
// nonce, the node once.
func (c *script) reconnected() {
	first := c.again(adstest.CDS, "4", []string{"b@2"}, nil)
	first.node = true
	check(c.t, c.s, "second stream", first,
		c.again(adstest.EDS, "2", []string{"b-eds@2"}, []string{"b-eds"}),
		c.again(adstest.LDS, "1", []string{"l@1"}, nil),
		c.again(adstest.RDS, "2", []string{"r1@1", "r2@2"}, []string{"r1", "r2"}),
		c.again(adstest.SRDS, "1", []string{"scope@1"}, nil),
		c.again(adstest.SDS, "1", []string{"s1@1"}, []string{"s1"}),
		c.again(adstest.ECDS, "1", []string{"x@1"}, []string{"x"}))
}
