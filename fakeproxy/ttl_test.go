package fakeproxy_test

import (
	"slices"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// https://github.com/envoyproxy/go-control-plane/issues/358
func TestHeartbeatRefreshesAndOnExpiryTheResourceGoes(t *testing.T) {
	const lifetime = 300 * time.Millisecond
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			s.Expect(adstest.CDS)
			s.Send(response(v, adstest.CDS, "1", makeCluster("a", "", time.Second)))
			wantAck(t, s.Expect(adstest.CDS), "1")
			s.Expect(adstest.EDS)
			s.Send(and(withTTL(v, "2", makeCluster("a", "", time.Second), lifetime), makeCluster("b", "a", time.Second)))
			wantAck(t, s.Expect(adstest.CDS), "2")
			for _, version := range []string{"3", "4", "5"} {
				time.Sleep(lifetime / 2)
				s.Send(withTTL(v, version, nil, lifetime))
				wantAck(t, s.Expect(adstest.CDS), version)
			}
			if d := typeDump(f, xds.CDS); len(d.Resources) != 2 {
				t.Fatalf("refreshed three times, holds %+v", d.Resources)
			}
			eventually(t, "a is gone, b is not", func() bool {
				d := typeDump(f, xds.CDS)
				return len(d.Resources) == 1 && d.Resources[0].Name == "b"
			})
		})
	}
}

func TestChildrenOfAnExpiredResourceAreUnsubscribed(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			s.Expect(adstest.CDS)
			s.Send(withTTL(v, "1", makeCluster("a", "", time.Second), 50*time.Millisecond))
			wantAck(t, s.Expect(adstest.CDS), "1")
			wantNames(t, s.Expect(adstest.EDS), "a")
			gone := s.Expect(adstest.EDS)
			if v == xds.Delta && !slices.Equal(gone.Unsubscribe, []string{"a"}) || len(gone.Names) > 0 {
				t.Errorf("after expiry: %+v", gone)
			}
			eventually(t, "said so", func() bool { return slices.Contains(f.sink.kinds(), event.Unsubscribed) })
		})
	}
}

// withTTL is a response with cluster "a" under a TTL; nil is a heartbeat.
func withTTL(v xds.Variant, version string, c any, d time.Duration) any {
	r := &discoveryv3.Resource{Name: "a", Version: version, Ttl: durationpb.New(d)}
	if m, ok := c.(interface{ GetName() string }); ok && m != nil {
		r.Resource = adstest.Any(makeCluster(m.GetName(), "", time.Second))
	}
	if v == xds.SotW {
		return adstest.SotW(adstest.CDS, version, r)
	}
	return &discoveryv3.DeltaDiscoveryResponse{TypeUrl: adstest.CDS, Nonce: "n-" + version, Resources: []*discoveryv3.Resource{r}}
}

// and adds a resource to a response.
func and(response any, r proto.Message) any {
	switch m := response.(type) {
	case *discoveryv3.DiscoveryResponse:
		m.Resources = append(m.Resources, adstest.Any(r))
	case *discoveryv3.DeltaDiscoveryResponse:
		m.Resources = append(m.Resources, &discoveryv3.Resource{Name: adstest.Name(r), Resource: adstest.Any(r)})
	}
	return response
}
