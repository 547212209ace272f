package fakeproxy_test

import (
	"slices"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// markedRoutes is a route configuration with virtual hosts, whose routes are named.
func markedRoutes(name string, hosts map[string]string) *routev3.RouteConfiguration {
	out := &routev3.RouteConfiguration{Name: name}
	for host, route := range hosts {
		out.VirtualHosts = append(out.VirtualHosts, &routev3.VirtualHost{
			Name: host, Domains: []string{host},
			Routes: []*routev3.Route{{
				Name:   route,
				Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
				Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 200}},
			}},
		})
	}
	return out
}

func TestFollowedTypesSayWhatChanged(t *testing.T) {
	for _, v := range []xds.Variant{xds.SotW, xds.Delta} {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v, func(c *fakeproxy.Config) { c.Follow = []xds.Type{xds.CDS, xds.LDS, xds.RDS} })
			seen := 0
			// next returns what the responses since the last call changed, without EDS.
			next := func(responses int) []event.ResourceState {
				eventually(t, "recorded", func() bool { return len(f.sink.all()) >= seen+responses })
				var out []event.ResourceState
				for _, r := range f.sink.all()[seen:] {
					out = append(out, r.States...)
				}
				seen += responses
				return out
			}
			want := func(what string, got []event.ResourceState, states ...event.ResourceState) {
				t.Helper()
				if diff := cmp.Diff(states, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
			is := func(typ xds.Type, name string, state event.Fingerprint) event.ResourceState {
				return event.ResourceState{Type: typ, Name: name, State: state}
			}
			s.Expect(adstest.CDS)
			s.Send(response(v, adstest.CDS, "1", makeCluster("a", "-", time.Second), makeCluster("b", "-", event.MarkTimeout(3))))
			want("first clusters", next(1), is(xds.CDS, "a", event.Present), is(xds.CDS, "b", event.MarkState(3)))
			s.Expect(adstest.CDS)
			s.Expect(adstest.LDS)
			s.Send(response(v, adstest.LDS, "1", makeListener("l", "r"), makeListener("m", "q")))
			s.Send(response(v, adstest.RDS, "1",
				markedRoutes("r", map[string]string{"x": event.Mark("vs", 2)}), markedRoutes("q", map[string]string{"y": event.Mark("vs", 1)})))
			want("listeners and routes", next(2),
				is(xds.LDS, "l", event.Present), is(xds.LDS, "m", event.Present),
				is(xds.RDS, event.MarkName("vs"), event.MarkState(1)), is(xds.RDS, "x", event.Present), is(xds.RDS, "y", event.Present))
			s.Send(response(v, adstest.RDS, "2", markedRoutes("q", map[string]string{"y": event.Mark("vs", 2)})))
			want("the last of the routes with the mark", next(1), is(xds.RDS, event.MarkName("vs"), event.MarkState(2)))
			if v == xds.SotW {
				s.Send(adstest.SotW(adstest.LDS, "2", makeListener("l", "r")))
			} else {
				s.Send(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: adstest.LDS, Nonce: "n-2", RemovedResources: []string{"m"}})
			}
			want("a listener goes, and its routes with it", next(1), is(xds.LDS, "m", event.Absent), is(xds.RDS, "y", event.Absent))
			got := slices.Collect(f.Followed(0))
			want("what is held", got,
				is(xds.CDS, "a", event.Present), is(xds.CDS, "b", event.MarkState(3)), is(xds.LDS, "l", event.Present),
				is(xds.RDS, event.MarkName("vs"), event.MarkState(2)), is(xds.RDS, "x", event.Present))
		})
	}
}
