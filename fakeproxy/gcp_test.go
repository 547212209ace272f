package fakeproxy_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
)

// serveCache serves a go-control-plane cache on loopback.
func serveCache(t *testing.T, cache cachev3.Cache, opts ...grpc.ServerOption) string {
	t.Helper()
	var lc net.ListenConfig
	lis, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	srv := grpc.NewServer(opts...)
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(srv, serverv3.NewServer(ctx, cache, nil))
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	t.Cleanup(func() {
		cancel()
		srv.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return lis.Addr().String()
}

// everyNode is a cachev3.NodeHash that gives all nodes one snapshot.
type everyNode struct{}

func (everyNode) ID(*corev3.Node) string { return "all" }

// meshOf is a mesh of services with one endpoint each, whose last octet is rev.
func meshOf(services []string, rev int) map[string][]types.Resource {
	m := map[string][]types.Resource{
		adstest.LDS: {makeListener("l", "r1", "r2")},
		adstest.RDS: {makeRoute("r1", "one.example"), makeRoute("r2", "two.example")},
	}
	for _, s := range services {
		m[adstest.CDS] = append(m[adstest.CDS], makeCluster(s, "", time.Second))
		m[adstest.EDS] = append(m[adstest.EDS], makeEndpoints(s, fmt.Sprintf("10.0.0.%d:80", rev)))
	}
	return m
}

// wantEverywhere waits until all proxies hold the services at a revision.
func wantEverywhere(t *testing.T, f *fleet, proxies int, services []string, rev int) {
	t.Helper()
	want := []uint64{event.EndpointHash(fmt.Sprintf("10.0.0.%d", rev), 80)}
	eventually(t, fmt.Sprintf("%d services at revision %d on all proxies", len(services), rev), func() bool {
		for p := range proxies {
			got := endpoints(f, p)
			if len(got) != len(services) {
				return false
			}
			for _, s := range services {
				if !slices.Equal(got[s], want) {
					return false
				}
			}
		}
		return true
	})
}

func TestFleetFollowsASnapshotCache(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			const proxies = 10
			cache := cachev3.NewSnapshotCache(true, everyNode{}, nil)
			set := func(version string, m map[string][]types.Resource) {
				snapshot, err := cachev3.NewSnapshot(version, m)
				if err != nil {
					t.Fatal(err)
				}
				if err := cache.SetSnapshot(t.Context(), "all", snapshot); err != nil {
					t.Fatal(err)
				}
			}
			services := []string{"a", "b", "c"}
			set("1", meshOf(services, 1))
			f := start(t, config(serveCache(t, cache), v, proxies))
			eventually(t, "all ready", func() bool { return f.Counts().Ready == proxies })
			wantEverywhere(t, f, proxies, services, 1)
			set("2", meshOf(services, 2))
			wantEverywhere(t, f, proxies, services, 2)
			services = []string{"a", "c", "d", "e"}
			set("3", meshOf(services, 3))
			wantEverywhere(t, f, proxies, services, 3)
			if c := f.Counts(); c.Nacks != 0 || c.OutOfOrder != 0 || c.Disconnected != 0 {
				t.Errorf("counts %+v", c)
			}
		})
	}
}

// linearCaches are a cache for each type, and all as one.
func linearCaches(resources map[string][]types.Resource) (map[string]*cachev3.LinearCache, cachev3.Cache) {
	caches := map[string]*cachev3.LinearCache{}
	mux := &cachev3.MuxCache{
		Classify:      func(r *cachev3.Request) string { return r.GetTypeUrl() },
		ClassifyDelta: func(r *cachev3.DeltaRequest) string { return r.GetTypeUrl() },
		Caches:        map[string]cachev3.Cache{},
	}
	for url, list := range resources {
		initial := map[string]types.Resource{}
		for _, r := range list {
			initial[adstest.Name(r)] = r
		}
		caches[url] = cachev3.NewLinearCache(url, cachev3.WithInitialResources(initial))
		mux.Caches[url] = caches[url]
	}
	return caches, mux
}

func TestFleetFollowsLinearCaches(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			const proxies = 10
			services := []string{"a", "b", "c"}
			caches, mux := linearCaches(meshOf(services, 1))
			f := start(t, config(serveCache(t, mux), v, proxies))
			eventually(t, "all ready", func() bool { return f.Counts().Ready == proxies })
			wantEverywhere(t, f, proxies, services, 1)
			for _, s := range services {
				if err := caches[adstest.EDS].UpdateResource(s, makeEndpoints(s, "10.0.0.2:80")); err != nil {
					t.Fatal(err)
				}
			}
			wantEverywhere(t, f, proxies, services, 2)
			if err := caches[adstest.CDS].DeleteResource("b"); err != nil {
				t.Fatal(err)
			}
			wantEverywhere(t, f, proxies, []string{"a", "c"}, 2)
			if c := f.Counts(); c.Nacks != 0 || c.Disconnected != 0 {
				t.Errorf("counts %+v", c)
			}
		})
	}
}

// A MuxCache may give each type, or each node, a cache of another kind.
func TestFleetFollowsAMuxCacheOfBothKinds(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			const proxies = 10
			services := []string{"a", "b"}
			m := meshOf(services, 1)
			secret := makeSecret("s", "one")
			l := makeListener("l", "r1", "r2")
			l.FilterChains = append(l.FilterChains, makeTLSChain("s"), makeFilterChain("x"))
			m[adstest.LDS] = []types.Resource{l}
			snapshots := cachev3.NewSnapshotCache(true, everyNode{}, nil)
			set := func(version string) {
				snapshot, err := cachev3.NewSnapshot(version, map[string][]types.Resource{
					adstest.CDS: m[adstest.CDS], adstest.LDS: m[adstest.LDS], adstest.RDS: m[adstest.RDS],
					adstest.SDS: {secret}, adstest.ECDS: {makeExtension("x", version)},
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := snapshots.SetSnapshot(t.Context(), "all", snapshot); err != nil {
					t.Fatal(err)
				}
			}
			set("1")
			linear := cachev3.NewLinearCache(adstest.EDS)
			kind := func(url string) string {
				if url == adstest.EDS {
					return "linear"
				}
				return "snapshot"
			}
			f := start(t, config(serveCache(t, &cachev3.MuxCache{
				Classify:      func(r *cachev3.Request) string { return kind(r.GetTypeUrl()) },
				ClassifyDelta: func(r *cachev3.DeltaRequest) string { return kind(r.GetTypeUrl()) },
				Caches:        map[string]cachev3.Cache{"linear": linear, "snapshot": snapshots},
			}), v, proxies))
			eventually(t, "all subscribed", func() bool { return len(endpoints(f, proxies-1)) == len(services) })
			if c := f.Counts(); c.Ready != 0 {
				t.Errorf("%d ready without endpoints", c.Ready)
			}
			for rev := range 2 {
				for _, s := range services {
					if err := linear.UpdateResource(s, makeEndpoints(s, fmt.Sprintf("10.0.0.%d:80", rev+1))); err != nil {
						t.Fatal(err)
					}
				}
				wantEverywhere(t, f, proxies, services, rev+1)
			}
			eventually(t, "all ready", func() bool { return f.Counts().Ready == proxies })
			m[adstest.CDS] = m[adstest.CDS][:1]
			set("2")
			wantEverywhere(t, f, proxies, services[:1], 2)
			if c := f.Counts(); c.Nacks != 0 || c.Disconnected != 0 {
				t.Errorf("counts %+v", c)
			}
		})
	}
}
