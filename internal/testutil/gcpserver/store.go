package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// store is what the ADS server serves from.
type store interface {
	// set makes these the clusters, by name.
	set(now map[string]cluster) error
	source() cache.Cache
}

func newStore(kind string) (store, error) {
	listener, err := listenerResource()
	if err != nil {
		return nil, err
	}
	switch kind {
	case "linear":
		return newLinearStore(listener)
	case "snapshot":
		return &snapshotStore{listener: listener, cache: cache.NewSnapshotCache(true, anyNode{}, nil)}, nil
	}
	return nil, fmt.Errorf("--cache %q: must be linear or snapshot", kind)
}

// linearStore has a LinearCache per type.
type linearStore struct {
	clusters map[string]cluster
	caches   map[string]*cache.LinearCache // by type URL
	mux      *cache.MuxCache
}

func newLinearStore(listener types.Resource) (*linearStore, error) {
	s := &linearStore{caches: map[string]*cache.LinearCache{}}
	s.mux = &cache.MuxCache{
		Classify:      func(r *cache.Request) string { return r.GetTypeUrl() },
		ClassifyDelta: func(r *cache.DeltaRequest) string { return r.GetTypeUrl() },
		Caches:        map[string]cache.Cache{},
	}
	// A request for a type without a cache would end its stream.
	for _, url := range []string{
		resource.ClusterType, resource.EndpointType, resource.ListenerType, resource.RouteType,
		resource.ScopedRouteType, resource.SecretType, resource.ExtensionConfigType,
	} {
		s.caches[url] = cache.NewLinearCache(url)
		s.mux.Caches[url] = s.caches[url]
	}
	return s, errors.Join(
		s.caches[resource.ListenerType].UpdateResource(outbound, listener),
		s.caches[resource.RouteType].UpdateResource(outbound, routeResource(nil)))
}

func (s *linearStore) source() cache.Cache { return s.mux }

// set makes before it breaks: endpoints, clusters, routes; then it removes clusters
// and endpoints that no route names any more.
func (s *linearStore) set(now map[string]cluster) error {
	before := s.clusters
	s.clusters = now
	endpoints, clusters := map[string]types.Resource{}, map[string]types.Resource{}
	for name, c := range now {
		old, known := before[name]
		if !known {
			clusters[name] = clusterResource(name)
		}
		if !known || !sameEndpoints(old, c) {
			endpoints[name] = c.endpoints
		}
	}
	var gone []string
	for name := range before {
		if _, stays := now[name]; !stays {
			gone = append(gone, name)
		}
	}
	if err := s.update(resource.EndpointType, endpoints, nil); err != nil || len(clusters)+len(gone) == 0 {
		return err
	}
	return errors.Join(
		s.update(resource.ClusterType, clusters, nil),
		s.update(resource.RouteType, map[string]types.Resource{outbound: routeResource(now)}, nil),
		s.update(resource.ClusterType, nil, gone),
		s.update(resource.EndpointType, nil, gone))
}

// update changes the resources of one type, if there is anything to change: an
// update wakes every watch of the type.
func (s *linearStore) update(typeURL string, changed map[string]types.Resource, gone []string) error {
	if len(changed) == 0 && len(gone) == 0 {
		return nil
	}
	return s.caches[typeURL].UpdateResources(changed, gone)
}

// snapshotStore has one SnapshotCache in which all proxies share one snapshot.
type snapshotStore struct {
	clusters map[string]cluster
	listener types.Resource
	cache    cache.SnapshotCache

	// The versions count the changes of the set of clusters, and of the endpoints.
	clusterVersion, endpointVersion int
}

// anyNode gives all proxies the same snapshot.
type anyNode struct{}

func (anyNode) ID(*corepb.Node) string { return "all" }

func (s *snapshotStore) source() cache.Cache { return s.cache }

func (s *snapshotStore) set(now map[string]cluster) error {
	sameNames := maps.EqualFunc(s.clusters, now, func(_, _ cluster) bool { return true })
	if s.clusterVersion > 0 && maps.EqualFunc(s.clusters, now, sameEndpoints) {
		return nil
	}
	s.clusters = now
	s.endpointVersion++
	if s.clusterVersion == 0 || !sameNames {
		s.clusterVersion++
	}
	var clusters, endpoints []types.Resource
	for name, c := range now {
		clusters = append(clusters, clusterResource(name))
		endpoints = append(endpoints, c.endpoints)
	}
	clusterVersion := strconv.Itoa(s.clusterVersion)
	snapshot := &cache.Snapshot{}
	snapshot.Resources[types.Cluster] = cache.NewResources(clusterVersion, clusters)
	snapshot.Resources[types.Endpoint] = cache.NewResources(strconv.Itoa(s.endpointVersion), endpoints)
	snapshot.Resources[types.Listener] = cache.NewResources("1", []types.Resource{s.listener})
	snapshot.Resources[types.Route] = cache.NewResources(clusterVersion, []types.Resource{routeResource(now)})
	return s.cache.SetSnapshot(context.Background(), "all", snapshot)
}
