package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// store is what the ADS server serves from.
type store interface {
	// apply replaces the clusters of the services named; none removes a service.
	apply(changes map[string][]cluster) error
	source() cache.Cache
}

func newStore(kind string) (store, error) {
	switch kind {
	case "linear":
		return newLinearStore()
	case "snapshot":
		return newSnapshotStore()
	}
	return nil, fmt.Errorf("--cache %q: must be linear or snapshot", kind)
}

// linearStore has a LinearCache per type.
type linearStore struct {
	services map[string][]cluster
	caches   map[string]*cache.LinearCache // by type URL
	mux      *cache.MuxCache
}

func newLinearStore() (*linearStore, error) {
	listener, err := listenerResource()
	if err != nil {
		return nil, err
	}
	s := &linearStore{services: map[string][]cluster{}, caches: map[string]*cache.LinearCache{}}
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

// apply makes before it breaks: endpoints, clusters, routes; then it removes
// clusters and endpoints that no route names any more.
func (s *linearStore) apply(changes map[string][]cluster) error {
	endpoints, clusters := map[string]types.Resource{}, map[string]types.Resource{}
	var gone []string
	moved := false
	for key, now := range changes {
		before := s.services[key]
		for _, c := range now {
			i := slices.IndexFunc(before, func(b cluster) bool { return b.name == c.name })
			if i < 0 {
				clusters[c.name] = clusterResource(c.name)
			}
			if i < 0 || !sameEndpoints(before[i], c) {
				endpoints[c.name] = c.endpoints
			}
		}
		for _, b := range before {
			if !slices.ContainsFunc(now, func(c cluster) bool { return b.name == c.name }) {
				gone = append(gone, b.name)
			}
		}
		moved = moved || !sameNames(before, now)
		set(s.services, key, now)
	}
	if err := s.update(resource.EndpointType, endpoints, nil); err != nil || !moved {
		return err
	}
	return errors.Join(
		s.update(resource.ClusterType, clusters, nil),
		s.update(resource.RouteType, map[string]types.Resource{outbound: routeResource(s.services)}, nil),
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

// set replaces a service's clusters, or forgets the service.
func set(services map[string][]cluster, key string, clusters []cluster) {
	if len(clusters) == 0 {
		delete(services, key)
		return
	}
	services[key] = clusters
}

// snapshotStore has one SnapshotCache in which all proxies share one snapshot.
type snapshotStore struct {
	services map[string][]cluster
	listener types.Resource
	cache    cache.SnapshotCache

	// The versions count the changes of the set of clusters, and of the endpoints.
	clusterVersion, endpointVersion int
}

// anyNode gives all proxies the same snapshot.
type anyNode struct{}

func (anyNode) ID(*corepb.Node) string { return "all" }

func newSnapshotStore() (*snapshotStore, error) {
	listener, err := listenerResource()
	if err != nil {
		return nil, err
	}
	return &snapshotStore{
		services: map[string][]cluster{},
		listener: listener,
		cache:    cache.NewSnapshotCache(true, anyNode{}, nil),
	}, nil
}

func (s *snapshotStore) source() cache.Cache { return s.cache }

func (s *snapshotStore) apply(changes map[string][]cluster) error {
	first := s.clusterVersion == 0
	clustersChanged, endpointsChanged := first, first
	for key, now := range changes {
		before := s.services[key]
		clustersChanged = clustersChanged || !sameNames(before, now)
		endpointsChanged = endpointsChanged || !slices.EqualFunc(before, now, sameEndpoints)
		set(s.services, key, now)
	}
	if clustersChanged {
		s.clusterVersion++
	}
	if clustersChanged || endpointsChanged {
		s.endpointVersion++
	} else {
		return nil
	}
	var clusters, endpoints []types.Resource
	for _, ofService := range s.services {
		for _, c := range ofService {
			clusters = append(clusters, clusterResource(c.name))
			endpoints = append(endpoints, c.endpoints)
		}
	}
	clusterVersion := strconv.Itoa(s.clusterVersion)
	snapshot := &cache.Snapshot{}
	snapshot.Resources[types.Cluster] = cache.NewResources(clusterVersion, clusters)
	snapshot.Resources[types.Endpoint] = cache.NewResources(strconv.Itoa(s.endpointVersion), endpoints)
	snapshot.Resources[types.Listener] = cache.NewResources("1", []types.Resource{s.listener})
	snapshot.Resources[types.Route] = cache.NewResources(clusterVersion, []types.Resource{routeResource(s.services)})
	return s.cache.SetSnapshot(context.Background(), "all", snapshot)
}
