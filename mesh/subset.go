package mesh

import (
	"strings"

	"github.com/xdsbench/xdsbench/event"
)

// versionLabel is the label by which pods belong to a subset.
const versionLabel = "version"

// versions are the values of versionLabel, which pods have in turn.
func versions() []string { return []string{"v1", "v2"} }

// subsets returns the subsets of a DestinationRule.
func subsets() []any {
	var out []any
	for _, version := range versions() {
		out = append(out, object{"name": version, "labels": object{versionLabel: version}})
	}
	return out
}

// subsetName names the cluster of a subset as Istio does: "outbound|80|v1|HOST".
func subsetName(cluster, version string) string {
	return strings.Replace(cluster, "||", "|"+version+"|", 1)
}

// subsetStates returns the clusters of some of the subsets, by port; nil if the service
// has none.
func (s *Service) subsetStates(of ...string) []event.Expected {
	if !s.subsets || s.headless || s.absent {
		return nil
	}
	var out []event.Expected
	for i, p := range s.ports {
		for _, version := range of {
			state := s.states[i]
			state.Name = subsetName(state.Name, version)
			state.State = event.FingerprintOf(s.subsetHashes(p, version))
			out = append(out, state)
		}
	}
	return out
}

// subsetHashes returns the usable endpoints of a port that belong to a subset. Endpoints
// without a pod have no labels, and belong to none.
func (s *Service) subsetHashes(p port, version string) []uint64 {
	var out []uint64
	for _, name := range s.Ready() {
		m := s.pods[name]
		if target, ok := s.target(m.slice, p.name); ok && m.pod.Labels[versionLabel] == version {
			out = append(out, event.EndpointHash(m.pod.IP, uint32(target)))
		}
	}
	if s.odd == nil {
		return out
	}
	for _, at := range s.odd.ports {
		for _, pod := range s.odd.pods {
			if at.name == p.name && pod.Labels[versionLabel] == version {
				out = append(out, event.EndpointHash(pod.IP, uint32(at.target)))
			}
		}
	}
	return out
}
