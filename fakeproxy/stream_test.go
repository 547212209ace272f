package fakeproxy_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
	"github.com/xdsbench/xdsbench/fakeproxy/misbehave"
)

// transport is what the fleets under test use. All tests run with each, or with that of
// the flag -transport alone.
var transport = fakeproxy.TransportGRPC

var only = flag.String("transport", "", "the transport to run the tests with; empty is both")

var transports = []string{fakeproxy.TransportLean, fakeproxy.TransportGRPC}

func TestMain(m *testing.M) { goleak.VerifyTestMain(bothTransports{m}) }

// given reports whether a flag has another value than its default.
func given(name string) bool {
	f := flag.Lookup(name)
	return f.Value.String() != f.DefValue
}

// bothTransports runs the tests once with each transport.
type bothTransports struct{ tests *testing.M }

func (b bothTransports) Run() (code int) {
	flag.Parse()
	if given("test.bench") || given("test.fuzz") || given("test.fuzzworker") { // they choose their own
		return b.tests.Run()
	}
	for _, transport = range transports {
		if *only != "" && *only != transport {
			continue
		}
		code = max(code, b.tests.Run())
	}
	return code
}

// response makes a response of the variant.
func response(v xds.Variant, typeURL, version string, resources ...proto.Message) any {
	if v == xds.SotW {
		return adstest.SotW(typeURL, version, resources...)
	}
	return adstest.Delta(typeURL, version, resources...)
}

var variants = []xds.Variant{xds.SotW, xds.Delta}

// sync brings a proxy to ready with clusters a and b (EDS resource "b-eds"),
// and a listener with route r.
func syncProxy(t *testing.T, f *fleet, s *adstest.Stream, v xds.Variant) {
	t.Helper()
	s.Expect(adstest.CDS)
	s.Expect(adstest.LDS)
	s.Send(response(v, adstest.CDS, "1", makeCluster("a", "", time.Second), makeCluster("b", "b-eds", time.Second)))
	wantAck(t, s.Expect(adstest.CDS), "1")
	wantNames(t, s.Expect(adstest.EDS), "a", "b-eds")
	s.Send(response(v, adstest.EDS, "1", makeEndpoints("a", "10.0.0.1:80"), makeEndpoints("b-eds")))
	wantAck(t, s.Expect(adstest.EDS), "1")
	s.Send(response(v, adstest.LDS, "1", makeListener("l", "r")))
	wantAck(t, s.Expect(adstest.LDS), "1")
	wantNames(t, s.Expect(adstest.RDS), "r")
	s.Send(response(v, adstest.RDS, "1", makeRoute("r", "example.com")))
	wantAck(t, s.Expect(adstest.RDS), "1")
	eventually(t, "ready", func() bool { return f.Counts().Ready == 1 })
}

func TestProxySubscribesToWhatParentsNameAndBecomesReady(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			syncProxy(t, f, s, v)
			want := []event.ProxyEventKind{event.Connected, event.Subscribed, event.Ready}
			eventually(t, "events", func() bool { return slices.Equal(f.sink.kinds(), want) })
			got := endpoints(f, 0)
			if len(got) != 2 || !slices.Equal(got["a"], []uint64{event.EndpointHash("10.0.0.1", 80)}) || got["b-eds"] == nil {
				t.Errorf("endpoints %v", got)
			}
			for _, r := range f.sink.all() {
				if r.Received == 0 || r.Answered < r.Received || r.Socket > r.Received || r.Bytes == 0 {
					t.Errorf("stamps of %+v", r)
				}
			}
		})
	}
}

func TestFirstRequestsAreRootTypesWithTheNodeOnce(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, _, s := one(t, v)
			first, second := s.Next(), s.Next()
			if first.TypeURL != adstest.CDS || !strings.HasPrefix(first.Node.GetId(), "sidecar~") || len(first.Names) > 0 {
				t.Errorf("first request %+v", first)
			}
			if got := first.Node.GetMetadata().GetFields()["NAMESPACE"].GetStringValue(); got != "ns" {
				t.Errorf("metadata NAMESPACE %q", got)
			}
			if second.TypeURL != adstest.LDS || second.Node != nil || len(second.Names) > 0 {
				t.Errorf("second request %+v", second)
			}
		})
	}
}

func TestInvalidResourceIsRejectedByNameAndNothingAdvances(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			srv, f, s := one(t, v)
			syncProxy(t, f, s, v)
			bad := makeCluster("c", "", -time.Second)
			s.Send(response(v, adstest.CDS, "2", bad))
			nack := s.Expect(adstest.CDS)
			if !strings.Contains(nack.Error, `cds resource "c"`) || nack.Nonce != "n-2" {
				t.Errorf("got %+v, want a NACK of n-2 naming c", nack)
			}
			if v == xds.SotW && nack.Version != "1" {
				t.Errorf("a NACK carries version %q, want the last accepted, 1", nack.Version)
			}
			s.End(nil)
			again := srv.Accept(t)
			first := again.Expect(adstest.CDS)
			if v == xds.SotW && first.Version != "1" || v == xds.Delta && first.Initial["a"] != "1" || len(first.Initial["c"]) > 0 {
				t.Errorf("after reconnect: %+v, want version 1 echoed", first)
			}
			eventually(t, "one invalid NACK", func() bool { c := f.Counts(); return c.Nacks == 1 && c.NacksInjected == 0 })
		})
	}
}

func TestUndecodableResourceIsRejected(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			syncProxy(t, f, s, v)
			m := adstest.SotW(adstest.EDS, "2", makeEndpoints("a"))
			m.Resources[0].Value = []byte{0xff, 0xff}
			if v == xds.SotW {
				s.Send(m)
			} else {
				d := adstest.Delta(adstest.EDS, "2", makeEndpoints("a"))
				d.Resources[0].Resource.Value = []byte{0xff, 0xff}
				s.Send(d)
			}
			if nack := s.Expect(adstest.EDS); !strings.Contains(nack.Error, "does not decode") {
				t.Errorf("got %+v, want a NACK", nack)
			}
			if got := endpoints(f, 0)["a"]; len(got) != 1 {
				t.Errorf("endpoints %v, want the old one", got)
			}
		})
	}
}

func TestInjectedNacksAreSaidToBeSo(t *testing.T) {
	_, f, s := one(t, xds.Delta, func(c *fakeproxy.Config) {
		c.Spec.Nack = misbehave.Nack{Rate: 1, Types: []string{"lds"}}
	})
	s.Expect(adstest.CDS)
	s.Expect(adstest.LDS)
	s.Send(adstest.Delta(adstest.CDS, "1"))
	wantAck(t, s.Expect(adstest.CDS), "1")
	s.Send(adstest.Delta(adstest.LDS, "1", makeListener("l", "r")))
	if nack := s.Expect(adstest.LDS); nack.Error == "" || nack.Nonce != "n-1" {
		t.Errorf("got %+v, want a NACK", nack)
	}
	eventually(t, "recorded", func() bool {
		all := f.sink.all()
		return len(all) == 2 && all[1].Nacked && all[1].Injected && f.Counts().NacksInjected == 1
	})
}

func TestUsableEndpointsAreWhatCounts(t *testing.T) {
	_, f, s := one(t, xds.Delta)
	syncProxy(t, f, s, xds.Delta)
	a := makeEndpoints("a", "10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80")
	a.Endpoints[0].LbEndpoints[0].HealthStatus = 2 // UNHEALTHY
	a.Endpoints[0].LbEndpoints[1].HealthStatus = 3 // DRAINING
	s.Send(adstest.Delta(adstest.EDS, "2", a))
	wantAck(t, s.Expect(adstest.EDS), "2")
	want := event.FingerprintOf([]uint64{event.EndpointHash("10.0.0.3", 80)})
	eventually(t, "state", func() bool {
		all := f.sink.all()
		last := all[len(all)-1]
		return len(last.States) == 1 && last.States[0] == event.ResourceState{Type: xds.EDS, Name: "a", State: want}
	})
}

func TestApplyDelayHoldsTheAnswerBack(t *testing.T) {
	const delay = 50 * time.Millisecond
	_, f, s := one(t, xds.SotW, func(c *fakeproxy.Config) { c.Spec.ApplyDelay.Value.Duration = delay })
	s.Expect(adstest.CDS)
	s.Send(adstest.SotW(adstest.CDS, "1"))
	wantAck(t, s.Expect(adstest.CDS), "1")
	eventually(t, "recorded", func() bool { return len(f.sink.all()) == 1 })
	if r := f.sink.all()[0]; r.Answered.Sub(r.Received) < delay {
		t.Errorf("answered after %v, want at least %v", r.Answered.Sub(r.Received), delay)
	}
}
