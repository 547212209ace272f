package snapshot

import (
	"slices"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"k8s.io/apimachinery/pkg/types"

	"github.com/xdsbench/xdsbench/controlplane/internal/generate"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// lose undoes, as an injected fault, those parts of the update of a service that
// are lost: proxies keep what they had before, nothing of a new service and all of
// one that is gone.
func (s *Snapshot) lose(
	request *PushRequest, before *service, name types.NamespacedName, lost func(xds.Type, ...string) bool,
) {
	var old, changed service
	if before != nil {
		old = *before
	}
	after := s.services[name]
	if after != nil {
		changed = *after
	}
	result := changed
	if !sameResources(old.clusters, changed.clusters) {
		names := namesOf(old.clusters, changed.clusters)
		if lost(xds.CDS, names...) {
			result.clusters = old.clusters
			request.Clusters.Delete(names...)
		}
	}
	if !sameResources(old.listeners, changed.listeners) && lost(xds.LDS, namesOf(old.listeners, changed.listeners)...) {
		result.listeners = old.listeners
	}
	if hosts := changedHosts(&old, &changed); len(hosts) > 0 && lost(xds.RDS, hosts...) {
		result.routed, result.routes = old.routed, old.routes
	}
	switch {
	case after != nil:
		s.services[name] = &result
	case len(result.clusters)+len(result.listeners) > 0 || result.routed != nil:
		definition := *old.definition
		definition.Selector = nil // pods have lost it
		result.definition = &definition
		s.services[name] = &result
	}
}

func sameResources(a, b []*discovery.Resource) bool {
	return slices.EqualFunc(a, b, func(a, b *discovery.Resource) bool {
		return a.GetName() == b.GetName() && a.GetVersion() == b.GetVersion()
	})
}

func namesOf(lists ...[]*discovery.Resource) []string {
	var out []string
	for _, r := range slices.Concat(lists...) {
		out = append(out, r.GetName())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// changedHosts lists the virtual hosts of a service if its update changes them.
func changedHosts(before, after *service) []string {
	if before.routed.Equal(after.routed) && before.routes == after.routes {
		return nil
	}
	var out []string
	for _, s := range []*service{before, after} {
		if s.routed == nil {
			continue
		}
		for _, port := range s.routed.Ports {
			if port.Protocol.IsHTTP() {
				out = append(out, generate.VirtualHostName(s.routed, port.Number))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
