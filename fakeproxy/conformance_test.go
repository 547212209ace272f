package fakeproxy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// https://github.com/envoyproxy/envoy/issues/33607
func TestClusterChangedAfterReconnectWarmsUntilNewEndpointsArrive(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			srv, f, s := one(t, v, fetchTimeout(200*time.Millisecond))
			syncProxy(t, f, s, v)
			s.End(nil)
			s = srv.Accept(t)
			s.Expect(adstest.EDS)
			s.Send(response(v, adstest.EDS, "2", makeEndpoints("a", "10.0.0.1:80"), makeEndpoints("b-eds")))
			wantAck(t, s.Expect(adstest.EDS), "2")
			s.Expect(adstest.CDS)
			s.Send(response(v, adstest.CDS, "2", makeCluster("a", "", 2*time.Second), makeCluster("b", "b-eds", time.Second)))
			wantAck(t, s.Expect(adstest.CDS), "2")
			s.Expect(adstest.LDS)
			s.Send(response(v, adstest.LDS, "2", makeListener("l", "r")))
			wantAck(t, s.Expect(adstest.LDS), "2")
			if d := typeDump(f, xds.EDS); !slices.Equal(d.Warming, []string{"a"}) || f.Dump(0).Ready {
				t.Errorf("warming %q, ready %v; want a warming", d.Warming, f.Dump(0).Ready)
			}
			eventually(t, "a is stuck", func() bool { return len(f.Stuck()) == 1 })
			stuck := f.Stuck()[0]
			if stuck.Name != "a" || stuck.Type != "eds" || !slices.Equal(stuck.Parents, []string{"a"}) || !strings.Contains(stuck.Node, "p0.ns") {
				t.Errorf("stuck %+v", stuck)
			}
			if f.Dump(0).Ready {
				t.Error("ready although a cluster never warmed")
			}
			s.Send(response(v, adstest.EDS, "3", makeEndpoints("a", "10.0.0.1:80")))
			eventually(t, "ready once the endpoints arrive", func() bool { return f.Dump(0).Ready && len(f.Stuck()) == 0 })
		})
	}
}

// https://github.com/istio/istio/issues/28402
func TestClusterUpdatedWithoutEndpointsIsActiveWithoutThemAfterTheTimeout(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v, fetchTimeout(100*time.Millisecond))
			syncProxy(t, f, s, v)
			s.Send(response(v, adstest.CDS, "2", makeCluster("a", "", 2*time.Second), makeCluster("b", "b-eds", time.Second)))
			wantAck(t, s.Expect(adstest.CDS), "2")
			if got := endpoints(f, 0)["a"]; len(got) != 1 {
				t.Errorf("while a warms, its endpoints are %v; want the old one", got)
			}
			eventually(t, "the timeout is counted", func() bool { return f.Counts().FetchTimeouts == 1 })
			if got := endpoints(f, 0)["a"]; got != nil {
				t.Errorf("endpoints %v after the timeout, want none", got)
			}
		})
	}
}

func TestClusterChangedAgainWhileWarmingStartsItsTimeoutAnew(t *testing.T) {
	const timeout = 400 * time.Millisecond
	_, f, s := one(t, xds.Delta, fetchTimeout(timeout))
	syncProxy(t, f, s, xds.Delta)
	s.Send(adstest.Delta(adstest.CDS, "2", makeCluster("a", "", 2*time.Second)))
	wantAck(t, s.Expect(adstest.CDS), "2")
	time.Sleep(timeout / 2)
	again := time.Now()
	s.Send(adstest.Delta(adstest.CDS, "3", makeCluster("a", "", 3*time.Second)))
	eventually(t, "the timeout", func() bool { return f.Counts().FetchTimeouts == 1 })
	if d := time.Since(again); d < timeout {
		t.Errorf("timed out %v after the second change, want %v", d, timeout)
	}
}

// https://github.com/envoyproxy/go-control-plane/issues/488
func TestEndpointsAnsweredAsRemovedStaySubscribed(t *testing.T) {
	srv, f, s := one(t, xds.Delta)
	s.Expect(adstest.CDS)
	s.Send(adstest.Delta(adstest.CDS, "1", makeCluster("a", "", time.Second)))
	wantNames(t, s.Expect(adstest.EDS), "a")
	s.Send(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: adstest.EDS, Nonce: "n-1", RemovedResources: []string{"a"}})
	wantAck(t, s.Expect(adstest.EDS), "1")
	if d := typeDump(f, xds.EDS); !slices.Equal(d.Subscription, []string{"a"}) || len(d.Warming) > 0 || len(d.Resources) > 0 {
		t.Errorf("after the removal: %+v", d)
	}
	s.Send(adstest.Delta(adstest.EDS, "2", makeEndpoints("a", "10.0.0.1:80")))
	wantAck(t, s.Expect(adstest.EDS), "2")
	if got := endpoints(f, 0)["a"]; len(got) != 1 {
		t.Errorf("endpoints %v after the create", got)
	}
	s.Send(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: adstest.EDS, Nonce: "n-3", RemovedResources: []string{"a"}})
	wantAck(t, s.Expect(adstest.EDS), "3")
	s.End(nil)
	first := srv.Accept(t).Expect(adstest.EDS)
	wantNames(t, first, "a")
	if len(first.Initial) > 0 {
		t.Errorf("initial versions %v, want none of what was removed", first.Initial)
	}
}

func TestChildSharedByTwoParentsStaysWithTheSecond(t *testing.T) {
	_, f, s := one(t, xds.Delta)
	s.Expect(adstest.CDS)
	s.Send(adstest.Delta(adstest.CDS, "1", makeCluster("a", "x", time.Second), makeCluster("b", "x", time.Second)))
	wantAck(t, s.Expect(adstest.CDS), "1")
	wantNames(t, s.Expect(adstest.EDS), "x")
	s.Send(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: adstest.CDS, Nonce: "n-2", RemovedResources: []string{"a"}})
	wantAck(t, s.Expect(adstest.CDS), "2")
	s.ExpectNone(adstest.EDS, 30*time.Millisecond)
	if d := typeDump(f, xds.EDS); !slices.Equal(d.Subscription, []string{"x"}) {
		t.Errorf("subscription %q", d.Subscription)
	}
}

// https://github.com/envoyproxy/go-control-plane/issues/962
func TestPayloadResentForEverIsNackedEachTimeByItsNonceAndCounted(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			s.Expect(adstest.CDS)
			for _, version := range []string{"1", "2", "3"} {
				bad := adstest.Any(makeCluster("bad", "", -time.Second))
				if v == xds.SotW {
					s.Send(&discoveryv3.DiscoveryResponse{TypeUrl: adstest.CDS, Nonce: "n-" + version, Resources: append(adstest.SotW("", "").Resources, bad)})
				} else {
					s.Send(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: adstest.CDS, Nonce: "n-" + version, Resources: []*discoveryv3.Resource{{Name: "bad", Resource: bad}}})
				}
				if nack := s.Expect(adstest.CDS); nack.Error == "" || nack.Nonce != "n-"+version {
					t.Errorf("got %+v, want a NACK of n-%s", nack, version)
				}
			}
			if c := f.Counts(); c.Nacks != 3 || c.NacksRepeated != 2 {
				t.Errorf("counts %+v, want 3 NACKs, 2 of them repeated", c)
			}
		})
	}
}

// https://github.com/envoyproxy/go-control-plane/issues/399
func TestSilenceAfterANewNameMeansDoesNotExist(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v, fetchTimeout(100*time.Millisecond))
			syncProxy(t, f, s, v)
			s.Send(response(v, adstest.CDS, "1", makeCluster("a", "", time.Second), makeCluster("b", "b-eds", time.Second), makeCluster("c", "", time.Second)))
			s.Expect(adstest.EDS)
			if d := typeDump(f, xds.EDS); !slices.Equal(d.Subscription, []string{"a", "b-eds", "c"}) {
				t.Errorf("subscription %q", d.Subscription)
			}
			eventually(t, "c does not exist", func() bool { return slices.Equal(typeDump(f, xds.EDS).Expired, []string{"c"}) })
			s.Send(response(v, adstest.EDS, "1", makeEndpoints("c", "10.0.0.9:80")))
			eventually(t, "c is taken late", func() bool { return len(endpoints(f, 0)["c"]) == 1 && len(f.Stuck()) == 0 })
		})
	}
}

// https://github.com/envoyproxy/go-control-plane/issues/426
func TestNamesAreComparedByteForByteAndAStallIsNoReadiness(t *testing.T) {
	const name = "grpc/server?xds.resource.listening_address=127.0.0.1:80%25"
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v, fetchTimeout(50*time.Millisecond))
			s.Expect(adstest.CDS)
			s.Expect(adstest.LDS)
			s.Send(response(v, adstest.CDS, "1", makeCluster(name, "", time.Second)))
			wantAck(t, s.Expect(adstest.CDS), "1")
			wantNames(t, s.Expect(adstest.EDS), name)
			s.Send(response(v, adstest.LDS, "1"))
			wantAck(t, s.Expect(adstest.LDS), "1")
			s.Send(response(v, adstest.EDS, "1", makeEndpoints(strings.ToUpper(name))))
			wantAck(t, s.Expect(adstest.EDS), "1")
			eventually(t, "stall", func() bool { return len(f.Stuck()) == 1 })
			if c := f.Counts(); c.Ready != 0 || c.OutOfOrder != 1 {
				t.Errorf("counts %+v, want no proxy ready and one resource nobody asked for", c)
			}
		})
	}
}

// https://github.com/envoyproxy/go-control-plane/issues/526
func TestEndpointsBeforeTheirClusterAreIgnoredAndCounted(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			s.Expect(adstest.CDS)
			s.Send(response(v, adstest.EDS, "1", makeEndpoints("a", "10.0.0.1:80")))
			wantAck(t, s.Expect(adstest.EDS), "1")
			s.Send(response(v, adstest.CDS, "1", makeCluster("a", "", time.Second)))
			wantAck(t, s.Expect(adstest.CDS), "1")
			wantNames(t, s.Expect(adstest.EDS), "a")
			if got := endpoints(f, 0)["a"]; got != nil || f.Counts().OutOfOrder != 1 {
				t.Errorf("endpoints %v, out of order %d", got, f.Counts().OutOfOrder)
			}
		})
	}
}

// https://github.com/envoyproxy/envoy/issues/14847
func TestRepeatedNameIsRejected(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, _, s := one(t, v)
			s.Expect(adstest.CDS)
			s.Send(response(v, adstest.CDS, "1", makeCluster("a", "", time.Second), makeCluster("a", "", 2*time.Second)))
			if nack := s.Expect(adstest.CDS); !strings.Contains(nack.Error, `"a": is in the response twice`) {
				t.Errorf("got %+v, want a NACK", nack)
			}
		})
	}
}

func TestNameAddedAndRemovedByOneResponseIsRejected(t *testing.T) {
	_, _, s := one(t, xds.Delta)
	s.Expect(adstest.CDS)
	m := adstest.Delta(adstest.CDS, "1", makeCluster("a", "", time.Second))
	m.RemovedResources = []string{"a"}
	s.Send(m)
	if nack := s.Expect(adstest.CDS); !strings.Contains(nack.Error, `"a": is both added and removed`) {
		t.Errorf("got %+v, want a NACK", nack)
	}
}

func TestRepeatedNameInSotWMayMeanTheLast(t *testing.T) {
	_, f, s := one(t, xds.SotW, func(c *fakeproxy.Config) { c.Spec.SotWDuplicates = fakeproxy.DuplicatesLast })
	s.Expect(adstest.CDS)
	s.Send(adstest.SotW(adstest.CDS, "1", makeCluster("a", "old", time.Second), makeCluster("a", "new", time.Second)))
	wantAck(t, s.Expect(adstest.CDS), "1")
	wantNames(t, s.Expect(adstest.EDS), "new")
	s.Send(adstest.SotW(adstest.CDS, "2", makeCluster("a", "new", time.Second), makeCluster("a", "old", time.Second)))
	wantAck(t, s.Expect(adstest.CDS), "2")
	wantNames(t, s.Expect(adstest.EDS), "old")
	if d := typeDump(f, xds.CDS); len(d.Resources) != 1 {
		t.Errorf("holds %+v", d.Resources)
	}
}

// https://github.com/cilium/cilium/issues/45288
func TestResponsesWithOneNonceAreEachAnswered(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			s.Expect(adstest.CDS)
			s.Send(response(v, adstest.CDS, "1", makeCluster("a", "", time.Second)))
			s.Send(response(v, adstest.CDS, "1", makeCluster("a", "", 2*time.Second)))
			wantAck(t, s.Expect(adstest.CDS), "1")
			wantAck(t, s.Expect(adstest.CDS), "1")
			if c := f.Counts(); c.Acks != 2 {
				t.Errorf("%d ACKs", c.Acks)
			}
		})
	}
}

// https://github.com/envoyproxy/envoy/issues/14776
func TestNameSwappedOutIsSubscribedAfreshLater(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			syncProxy(t, f, s, v)
			a, b := makeCluster("b", "b-eds", time.Second), makeCluster("b", "other", time.Second)
			s.Send(response(v, adstest.CDS, "2", b, makeCluster("a", "", time.Second)))
			swapped := s.Expect(adstest.EDS)
			s.Send(response(v, adstest.CDS, "3", a, makeCluster("a", "", time.Second)))
			back := s.Expect(adstest.EDS)
			if v == xds.SotW {
				wantNames(t, swapped, "a", "other")
				wantNames(t, back, "a", "b-eds")
				return
			}
			wantNames(t, swapped, "other")
			wantNames(t, back, "b-eds")
			if !slices.Equal(back.Unsubscribe, []string{"other"}) {
				t.Errorf("unsubscribed from %q", back.Unsubscribe)
			}
		})
	}
}
