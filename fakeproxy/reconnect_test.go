package fakeproxy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// https://github.com/envoyproxy/envoy/issues/20699 and 16063
func TestReconnectTellsTheVersionsLastAcceptedAndNoNamesForWildcards(t *testing.T) {
	srv, f, s := one(t, xds.Delta)
	syncProxy(t, f, s, xds.Delta)
	s.Send(adstest.Delta(adstest.CDS, "2", makeCluster("b", "b-eds", time.Second)))
	wantAck(t, s.Expect(adstest.CDS), "2")
	s.End(nil)
	s = srv.Accept(t)
	cds, lds := s.Expect(adstest.CDS), s.Expect(adstest.LDS)
	if len(cds.Names)+len(cds.Unsubscribe)+len(lds.Names) > 0 {
		t.Errorf("wildcard requests name %q and %q", cds.Names, lds.Names)
	}
	if len(cds.Initial) != 2 || cds.Initial["a"] != "1" || cds.Initial["b"] != "2" || lds.Initial["l"] != "1" {
		t.Errorf("initial versions %v and %v", cds.Initial, lds.Initial)
	}
	eds := s.Expect(adstest.EDS)
	wantNames(t, eds, "a", "b-eds")
	if eds.Initial["a"] != "1" || eds.Nonce != "" || cds.Nonce != "" {
		t.Errorf("EDS request %+v", eds)
	}
	wantNames(t, s.Expect(adstest.RDS), "r")
}

func TestSotWReconnectTellsVersionAndSubscriptionWithoutNonce(t *testing.T) {
	srv, f, s := one(t, xds.SotW)
	syncProxy(t, f, s, xds.SotW)
	s.End(nil)
	s = srv.Accept(t)
	for _, url := range []string{adstest.CDS, adstest.LDS, adstest.EDS, adstest.RDS} {
		r := s.Expect(url)
		if r.Version != "1" || r.Nonce != "" {
			t.Errorf("%s: version %q, nonce %q; want 1 and none", url, r.Version, r.Nonce)
		}
		if url == adstest.EDS {
			wantNames(t, r, "a", "b-eds")
		}
	}
}

// https://github.com/envoyproxy/envoy/issues/17980
func TestChildGoesWithItsLastParentAndIsNotAskedForAgain(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			srv, f, s := one(t, v)
			syncProxy(t, f, s, v)
			if v == xds.SotW {
				s.Send(adstest.SotW(adstest.LDS, "2"))
				s.Send(adstest.SotW(adstest.CDS, "2", makeCluster("b", "b-eds", time.Second)))
			} else {
				s.Send(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: adstest.LDS, Nonce: "n-2", RemovedResources: []string{"l"}})
				s.Send(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: adstest.CDS, Nonce: "n-2", RemovedResources: []string{"a"}})
			}
			wantAck(t, s.Expect(adstest.LDS), "2")
			rds, eds := s.Expect(adstest.RDS), s.Expect(adstest.EDS)
			if v == xds.Delta && (!slices.Equal(rds.Unsubscribe, []string{"r"}) || !slices.Equal(eds.Unsubscribe, []string{"a"})) {
				t.Errorf("unsubscribed from %q and %q", rds.Unsubscribe, eds.Unsubscribe)
			}
			if v == xds.SotW {
				wantNames(t, rds)
				wantNames(t, eds, "b-eds")
			}
			s.End(nil)
			s = srv.Accept(t)
			wantNames(t, s.Expect(adstest.EDS), "b-eds")
			s.ExpectNone(adstest.RDS, 50*time.Millisecond)
			if d := typeDump(f, xds.RDS); len(d.Resources) > 0 {
				t.Errorf("still holds %+v", d.Resources)
			}
		})
	}
}

// https://github.com/envoyproxy/envoy/issues/34334
func TestStreamAfterNackAndGoAwayStartsWithAllRootTypes(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			srv, f, s := one(t, v)
			syncProxy(t, f, s, v)
			s.Send(response(v, adstest.CDS, "2", makeCluster("bad", "", -time.Second)))
			if nack := s.Expect(adstest.CDS); nack.Error == "" {
				t.Errorf("got %+v, want a NACK", nack)
			}
			left := make(chan struct{})
			go func() {
				defer close(left)
				srv.GoAway()
			}()
			s.Send(response(v, adstest.EDS, "2", makeEndpoints("a"))) // the stream lives on for now
			wantAck(t, s.Expect(adstest.EDS), "2")
			s.End(nil)
			<-left
			srv.Stop()
			again := adstest.StartAt(t, srv.Addr).Accept(t)
			again.Expect(adstest.CDS)
			again.Expect(adstest.LDS)
		})
	}
}

// As istiod ends connections after 30 minutes.
func TestConnectionThatReachedItsMaximumAgeIsReplaced(t *testing.T) {
	srv := adstest.Start(t, grpc.KeepaliveParams(keepalive.ServerParameters{
		MaxConnectionAge: 100 * time.Millisecond, MaxConnectionAgeGrace: 50 * time.Millisecond,
	}))
	f := start(t, config(srv.Addr, xds.Delta, 1))
	first := srv.Accept(t)
	first.Expect(adstest.CDS)
	first.Send(adstest.Delta(adstest.CDS, "1"))
	wantAck(t, first.Expect(adstest.CDS), "1")
	second := srv.Accept(t)
	second.Expect(adstest.CDS)
	if first.Client() == second.Client() {
		t.Errorf("both streams come from %s", first.Client())
	}
	if c := f.Counts(); c.Disconnected != 1 {
		t.Errorf("counts %+v", c)
	}
}

// A response of the old stream, and its nonce, have no place in the new one.
func TestNothingOfTheOldStreamIsAnsweredOnTheNewOne(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			srv, _, s := one(t, v)
			s.Expect(adstest.CDS)
			s.Send(response(v, adstest.CDS, "1", makeCluster("a", "", time.Second)))
			s.Send(response(v, adstest.CDS, "2", makeCluster("bad", "", -time.Second)))
			s.End(nil)
			s = srv.Accept(t)
			for range 2 {
				if r := s.Next(); r.Nonce != "" || r.Error != "" {
					t.Errorf("first requests hold %+v", r)
				}
			}
		})
	}
}

// https://github.com/envoyproxy/envoy/issues/14776
func TestNameSaidToBeMissingIsSubscribedAfreshLater(t *testing.T) {
	_, _, s := one(t, xds.Delta)
	s.Expect(adstest.CDS)
	s.Send(adstest.Delta(adstest.CDS, "1", makeCluster("a", "", time.Second)))
	wantNames(t, s.Expect(adstest.EDS), "a")
	s.Send(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: adstest.EDS, Nonce: "n-1", RemovedResources: []string{"a"}})
	wantAck(t, s.Expect(adstest.EDS), "1")
	for _, service := range []string{"b", ""} {
		s.Send(adstest.Delta(adstest.CDS, "2", makeCluster("a", service, time.Second)))
		r := s.Expect(adstest.EDS)
		if len(r.Names) != 1 || len(r.Unsubscribe) != 1 || r.Names[0] == r.Unsubscribe[0] || r.Nonce != "" {
			t.Errorf("got %+v, want a subscription to one name and the other's end", r)
		}
	}
}

// https://github.com/envoyproxy/envoy/issues/23343
func TestRejectedUpdateRefreshesNoTTL(t *testing.T) {
	const lifetime = 200 * time.Millisecond
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			s.Expect(adstest.CDS)
			s.Send(withTTL(v, "1", makeCluster("a", "", time.Second), lifetime))
			wantAck(t, s.Expect(adstest.CDS), "1")
			time.Sleep(lifetime / 2)
			bad := withTTL(v, "2", makeCluster("a", "", time.Second), time.Hour)
			s.Send(and(bad, makeCluster("bad", "", -time.Second)))
			if nack := s.Expect(adstest.CDS); !strings.Contains(nack.Error, "bad") {
				t.Errorf("got %+v, want a NACK", nack)
			}
			eventually(t, "a expires", func() bool { return len(typeDump(f, xds.CDS).Resources) == 0 })
		})
	}
}
