// Package snapshot builds the successive states of all resources from what the
// registry knows, and works out what brings proxies from one to the next.
package snapshot

import (
	"maps"
	"slices"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"k8s.io/apimachinery/pkg/types"

	"github.com/xdsbench/xdsbench/controlplane/internal/generate"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// Snapshot is one state of all resources. It is immutable, except for memos of
// what is derived from it on demand. The snapshots of successive incremental
// pushes share their services and their routing.
type Snapshot struct {
	Version string // in the form of istiod's push version

	number      uint64
	services    map[types.NamespacedName]*service
	assignments map[string]*discovery.Resource // load assignments by cluster
	*routing

	bySubscription memo[*xds.NameSet, *xds.Bundle]
	changes        memo[changeKey, *EndpointChange]
	unknown        memo[string, *discovery.Resource] // empty load assignments
}

// Empty returns the state before the first update.
func Empty() *Snapshot {
	return &Snapshot{
		services:    make(map[types.NamespacedName]*service),
		assignments: make(map[string]*discovery.Resource),
		routing:     &routing{},
	}
}

// Services is how many services there are.
func (s *Snapshot) Services() int { return len(s.services) }

// EDSClusters lists the clusters that have endpoints over EDS, in order.
func (s *Snapshot) EDSClusters() []string { return slices.Sorted(maps.Keys(s.assignments)) }

// Assignment returns the load assignment of a cluster, nil if it has none.
func (s *Snapshot) Assignment(cluster string) *discovery.Resource { return s.assignments[cluster] }

// KeepAssignment puts the load assignment of an earlier state into s, which must
// not have been published yet.
func (s *Snapshot) KeepAssignment(earlier *discovery.Resource) {
	s.assignments[earlier.GetName()] = earlier
}

// Endpoints returns the load assignments of a subscription, built once for all
// proxies that share it.
func (s *Snapshot) Endpoints(subscription *xds.NameSet) *xds.Bundle {
	return s.bySubscription.get(subscription, func() *xds.Bundle { return s.EndpointsNamed(subscription.Names()) })
}

// EndpointsNamed returns the load assignments of some clusters. As from istiod, an
// unknown cluster gets an empty one, so that the client does not wait for it.
func (s *Snapshot) EndpointsNamed(clusters []string) *xds.Bundle {
	list := make([]*discovery.Resource, 0, len(clusters))
	for _, name := range clusters {
		assignment := s.assignments[name]
		if assignment == nil {
			assignment = s.unknown.get(name, func() *discovery.Resource {
				return generate.LoadAssignment(&xds.Encoder{}, name, nil)
			})
		}
		list = append(list, assignment)
	}
	return xds.NewBundle(list)
}

// changeKey is a push to the proxies with one subscription.
type changeKey struct {
	push         *PushRequest
	subscription *xds.NameSet
}

// EndpointChange is the EDS content of a push.
type EndpointChange struct {
	Content *xds.Bundle
	Removed []string // subscribed names whose service is gone
}

// ChangedEndpoints returns the EDS content of a push to the proxies with a
// subscription, built once for all of them.
func (s *Snapshot) ChangedEndpoints(p *PushRequest, subscription *xds.NameSet) *EndpointChange {
	return s.changes.get(changeKey{push: p, subscription: subscription}, func() *EndpointChange {
		change := &EndpointChange{Content: &xds.Bundle{}}
		for _, name := range slices.Sorted(maps.Keys(p.Endpoints)) {
			switch assignment, ok := s.assignments[name]; {
			case !subscription.Has(name):
			case ok:
				change.Content.Add(assignment)
			default:
				change.Removed = append(change.Removed, name)
			}
		}
		return change
	})
}
