package fakeproxy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	internalv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/internal_upstream/v3"
	quicv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/quic/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// listenerWith is a listener with filter chains.
func listenerWith(name string, chains ...*listenerv3.FilterChain) *listenerv3.Listener {
	l := makeListener(name)
	l.FilterChains = chains
	return l
}

// roots answers the root types.
func roots(t *testing.T, s *adstest.Stream, v xds.Variant, version string, clusters, listeners []proto.Message) {
	t.Helper()
	s.Expect(adstest.CDS)
	s.Send(response(v, adstest.CDS, version, clusters...))
	wantAck(t, s.Expect(adstest.CDS), version)
	s.Expect(adstest.LDS)
	s.Send(response(v, adstest.LDS, version, listeners...))
	wantAck(t, s.Expect(adstest.LDS), version)
}

func TestProxyIsReadyOnlyWithTheSecretsThatItsResourcesName(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			c := makeTLSCluster("a", time.Second, "kubernetes://client", "ca")
			c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
			c.EdsClusterConfig = nil
			roots(t, s, v, "1", []proto.Message{c}, []proto.Message{listenerWith("l", makeTLSChain("kubernetes://server", "ca"))})
			wantNames(t, s.Expect(adstest.SDS), "ca", "kubernetes://client")
			all := s.Expect(adstest.SDS)
			if v == xds.SotW {
				wantNames(t, all, "ca", "kubernetes://client", "kubernetes://server")
			} else {
				wantNames(t, all, "kubernetes://server")
			}
			s.Send(response(v, adstest.SDS, "1", makeSecret("ca", "x"), makeSecret("kubernetes://client", "y")))
			wantAck(t, s.Expect(adstest.SDS), "1")
			if f.Dump(0).Ready {
				t.Error("ready without the listener's secret")
			}
			s.Send(response(v, adstest.SDS, "2", makeSecret("kubernetes://server", "z")))
			wantAck(t, s.Expect(adstest.SDS), "2")
			eventually(t, "ready", func() bool { return f.Dump(0).Ready })
		})
	}
}

// https://istio.io/latest/docs/tasks/traffic-management/ingress/secure-ingress/ for
// the names that go over ADS.
func TestSecretsOfTheAgentAndOfOtherSourcesAreNotAskedFor(t *testing.T) {
	_, f, s := one(t, xds.Delta)
	tls := makeTLS("default", "ROOTCA")
	tls.TlsCertificateSdsSecretConfigs = append(tls.TlsCertificateSdsSecretConfigs,
		&tlsv3.SdsSecretConfig{Name: "file-cert:/a~/b", SdsConfig: tls.GetTlsCertificateSdsSecretConfigs()[0].GetSdsConfig()},
		&tlsv3.SdsSecretConfig{Name: "elsewhere", SdsConfig: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{PathConfigSource: &corev3.PathConfigSource{Path: "/x"}},
		}})
	chain := makeTLSChain()
	chain.TransportSocket.ConfigType = &corev3.TransportSocket_TypedConfig{
		TypedConfig: adstest.Any(&tlsv3.DownstreamTlsContext{CommonTlsContext: tls}),
	}
	roots(t, s, xds.Delta, "1", nil, []proto.Message{listenerWith("l", chain)})
	eventually(t, "ready", func() bool { return f.Dump(0).Ready })
	if d := typeDump(f, xds.SDS); d.Asked {
		t.Errorf("asks for %q", d.Subscription)
	}
}

func TestSecretsAreFoundInWrappedAndMatchedTransportSockets(t *testing.T) {
	_, _, s := one(t, xds.Delta)
	socket := func(m proto.Message) *corev3.TransportSocket {
		return &corev3.TransportSocket{Name: "s", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: adstest.Any(m)}}
	}
	c := makeCluster("a", "", time.Second)
	c.TransportSocket = socket(&internalv3.InternalUpstreamTransport{
		TransportSocket: socket(&tlsv3.UpstreamTlsContext{CommonTlsContext: makeTLS("wrapped")}),
	})
	c.TransportSocketMatches = []*clusterv3.Cluster_TransportSocketMatch{{
		Name:            "m",
		TransportSocket: socket(&quicv3.QuicUpstreamTransport{UpstreamTlsContext: &tlsv3.UpstreamTlsContext{CommonTlsContext: makeTLS("matched")}}),
	}}
	s.Expect(adstest.CDS)
	s.Send(adstest.Delta(adstest.CDS, "1", c))
	wantAck(t, s.Expect(adstest.CDS), "1")
	wantNames(t, s.Expect(adstest.SDS), "matched", "wrapped")
}

// A secret that one parent holds already serves another at once, and stays
// until the last one goes.
func TestSecretIsSharedByClustersAndListeners(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			roots(t, s, v, "1", nil, []proto.Message{listenerWith("l", makeTLSChain("s"))})
			wantNames(t, s.Expect(adstest.SDS), "s")
			s.Send(response(v, adstest.SDS, "1", makeSecret("s", "x")))
			wantAck(t, s.Expect(adstest.SDS), "1")
			s.Send(response(v, adstest.CDS, "2", makeTLSCluster("a", time.Second, "s")))
			wantAck(t, s.Expect(adstest.CDS), "2")
			wantNames(t, s.Expect(adstest.EDS), "a")
			if d := typeDump(f, xds.SDS); len(d.Warming) > 0 || len(d.Resources) != 1 {
				t.Errorf("secrets %+v", d)
			}
			s.Send(response(v, adstest.LDS, "3", listenerWith("l")))
			wantAck(t, s.Expect(adstest.LDS), "3")
			s.ExpectNone(adstest.SDS, 20*time.Millisecond)
			s.Send(response(v, adstest.CDS, "4", makeCluster("a", "", time.Second)))
			wantAck(t, s.Expect(adstest.CDS), "4")
			gone := s.Expect(adstest.SDS)
			if v == xds.Delta && !slices.Equal(gone.Unsubscribe, []string{"s"}) || len(gone.Names) > 0 {
				t.Errorf("after the last parent: %+v", gone)
			}
		})
	}
}

func TestFilterConfigurationsComeFromEveryKindOfFilter(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			l := listenerWith("l", makeFilterChain("http"))
			l.FilterChains[0].Filters = append([]*listenerv3.Filter{{
				Name: "network", ConfigType: &listenerv3.Filter_ConfigDiscovery{ConfigDiscovery: makeDiscovery()},
			}}, l.GetFilterChains()[0].GetFilters()...)
			l.ListenerFilters = []*listenerv3.ListenerFilter{{
				Name: "listener", ConfigType: &listenerv3.ListenerFilter_ConfigDiscovery{ConfigDiscovery: makeDiscovery()},
			}}
			c := makeCluster("a", "", time.Second)
			c.ClusterDiscoveryType, c.EdsClusterConfig = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}, nil
			roots(t, s, v, "1", []proto.Message{c}, []proto.Message{l})
			wantNames(t, s.Expect(adstest.ECDS), "http", "listener", "network")
			for i, name := range []string{"http", "listener", "network"} {
				if f.Dump(0).Ready {
					t.Errorf("ready before %s", name)
				}
				version := fmt.Sprint(i + 1)
				s.Send(response(v, adstest.ECDS, version, makeExtension(name, "x")))
				wantAck(t, s.Expect(adstest.ECDS), version)
			}
			eventually(t, "ready", func() bool { return f.Dump(0).Ready })
		})
	}
}

// https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/rds#scoped-rds
func TestScopedRoutesAreAskedForAsAWholeAndNameRoutes(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v)
			roots(t, s, v, "1", nil, []proto.Message{listenerWith("l", makeScopedChain())})
			if r := s.Expect(adstest.SRDS); len(r.Names)+len(r.Unsubscribe) > 0 {
				t.Errorf("request for scoped routes names %+v", r)
			}
			onDemand := makeScope("later", "r3")
			onDemand.OnDemand = true
			s.Send(response(v, adstest.SRDS, "1", makeScope("x", "r1"), makeScope("y", "r2"), onDemand))
			wantAck(t, s.Expect(adstest.SRDS), "1")
			wantNames(t, s.Expect(adstest.RDS), "r1", "r2")
			s.Send(response(v, adstest.RDS, "1", makeRoute("r1", "one.example"), makeRoute("r2", "two.example")))
			wantAck(t, s.Expect(adstest.RDS), "1")
			eventually(t, "ready", func() bool { return f.Dump(0).Ready })
			if v == xds.SotW { // the whole state: y is gone
				s.Send(adstest.SotW(adstest.SRDS, "2", makeScope("x", "r1")))
			} else {
				s.Send(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: adstest.SRDS, Nonce: "n-2", RemovedResources: []string{"y"}})
			}
			wantAck(t, s.Expect(adstest.SRDS), "2")
			s.Expect(adstest.RDS)
			if d := typeDump(f, xds.RDS); !slices.Equal(d.Subscription, []string{"r1"}) || len(d.Resources) != 1 {
				t.Errorf("routes %+v", d)
			}
		})
	}
}

func TestScopedRoutesGoWithTheirLastListenerAndComeBack(t *testing.T) {
	_, f, s := one(t, xds.Delta)
	roots(t, s, xds.Delta, "1", nil, []proto.Message{listenerWith("l", makeScopedChain())})
	s.Expect(adstest.SRDS)
	s.Send(adstest.Delta(adstest.SRDS, "1", makeScope("x", "r1")))
	wantAck(t, s.Expect(adstest.SRDS), "1")
	wantNames(t, s.Expect(adstest.RDS), "r1")
	s.Send(adstest.Delta(adstest.LDS, "2", listenerWith("l")))
	wantAck(t, s.Expect(adstest.LDS), "2")
	if r := s.Expect(adstest.SRDS); !slices.Equal(r.Unsubscribe, []string{"*"}) || r.Nonce != "" {
		t.Errorf("got %+v, want the wildcard's end", r)
	}
	if r := s.Expect(adstest.RDS); !slices.Equal(r.Unsubscribe, []string{"r1"}) {
		t.Errorf("got %+v, want r1's end", r)
	}
	s.Send(adstest.Delta(adstest.SRDS, "2", makeScope("x", "r1")))
	wantAck(t, s.Expect(adstest.SRDS), "2")
	if d := typeDump(f, xds.SRDS); len(d.Resources) > 0 || d.Asked || f.Counts().OutOfOrder != 1 {
		t.Errorf("scoped routes nobody asked for: %+v", d)
	}
	s.Send(adstest.Delta(adstest.LDS, "3", listenerWith("l", makeScopedChain())))
	wantAck(t, s.Expect(adstest.LDS), "3")
	wantNames(t, s.Expect(adstest.SRDS), "*")
}

func TestEveryAwaitedTypeHasAnInitialFetchTimeout(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			_, f, s := one(t, v, fetchTimeout(50*time.Millisecond))
			l := listenerWith("l", makeChain("r"), makeTLSChain("s"), makeFilterChain("x"), makeScopedChain())
			roots(t, s, v, "1", []proto.Message{makeTLSCluster("a", time.Second, "s")}, []proto.Message{l})
			eventually(t, "all timed out", func() bool { return f.Counts().FetchTimeouts == 5 })
			var stuck []string
			for _, x := range f.Stuck() {
				stuck = append(stuck, fmt.Sprintf("%s %s of %s", x.Type, x.Name, strings.Join(x.Parents, " ")))
			}
			slices.Sort(stuck)
			want := []string{"ecds x of l", "eds a of a", "rds r of l", "sds s of a l", "srds * of l"}
			if !slices.Equal(stuck, want) {
				t.Errorf("stuck %q, want %q", stuck, want)
			}
			if f.Dump(0).Ready {
				t.Error("ready although nothing warmed")
			}
		})
	}
}

// https://github.com/istio/ztunnel/blob/master/src/xds/client.rs
func TestZtunnelAsksForAddressesAndAuthorizationsOnly(t *testing.T) {
	srv := adstest.Start(t)
	cfg := config(srv.Addr, xds.Delta, 1)
	cfg.Identities[0].ID = "ztunnel~10.0.0.1~z.istio-system~istio-system.svc.cluster.local"
	cfg.Identities[0].Roots = []xds.Type{xds.Workload, xds.Authorization}
	f := start(t, cfg)
	s := srv.Accept(t)
	for _, url := range []string{adstest.Address, adstest.Authorization} {
		if r := s.Next(); r.TypeURL != url || len(r.Names)+len(r.Unsubscribe) > 0 || !strings.HasPrefix(r.Node.GetId(), "ztunnel~") {
			t.Errorf("got %+v, want a wildcard request for %s", r, url)
		}
	}
	s.Send(adstest.Opaque(adstest.Address, "1", map[string]string{"Kubernetes//Pod/ns/a": "not a proto", "ns/svc": "\xff"}))
	wantAck(t, s.Expect(adstest.Address), "1")
	if f.Dump(0).Ready {
		t.Error("ready without authorizations")
	}
	s.Send(adstest.Opaque(adstest.Authorization, "1", nil))
	wantAck(t, s.Expect(adstest.Authorization), "1")
	eventually(t, "ready", func() bool { return f.Dump(0).Ready })
	s.Send(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: adstest.Address, Nonce: "n-2", RemovedResources: []string{"ns/svc"}})
	wantAck(t, s.Expect(adstest.Address), "2")
	s.Send(adstest.Delta(adstest.CDS, "1", makeCluster("a", "", time.Second)))
	eventually(t, "the clusters are ignored", func() bool { return f.Counts().UnknownType == 1 })
	s.End(nil)
	s = srv.Accept(t)
	if r := s.Next(); len(r.Initial) != 1 || r.Initial["Kubernetes//Pod/ns/a"] != "1" {
		t.Errorf("on reconnect: %+v", r)
	}
	s.Next()
}

func TestRootTypesAreChecked(t *testing.T) {
	for _, tc := range []struct {
		v     xds.Variant
		roots []xds.Type
		want  string
	}{
		{xds.Delta, []xds.Type{xds.EDS}, "root type eds: must be"},
		{xds.SotW, []xds.Type{xds.Workload}, "Delta variant only"},
	} {
		cfg := config("127.0.0.1:1", tc.v, 1)
		cfg.Identities[0].Roots = tc.roots
		if _, err := fakeproxy.New(cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("roots %v: got %v, want %q", tc.roots, err, tc.want)
		}
	}
}

func TestDumpTellsWhatAListenerNames(t *testing.T) {
	_, f, s := one(t, xds.Delta)
	s.Expect(adstest.LDS)
	l := listenerWith("l", makeChain("r"), makeTLSChain("s"), makeFilterChain("x"), makeScopedChain())
	s.Send(adstest.Delta(adstest.LDS, "1", l))
	wantAck(t, s.Expect(adstest.LDS), "1")
	r := typeDump(f, xds.LDS).Resources[0]
	if !slices.Equal(r.Children, []string{"r"}) || !slices.Equal(r.Secrets, []string{"s"}) ||
		!slices.Equal(r.Extensions, []string{"x"}) || !r.ScopedRoutes {
		t.Errorf("dump %+v", r)
	}
}
