package snapshot

import "github.com/xdsbench/xdsbench/controlplane/internal/xds"

// ResourceVersion is that of a resource as the proxies of a namespace see it, empty if
// there is none. Inbound clusters and virtualInbound are not known here.
func (s *Snapshot) ResourceVersion(t xds.Type, name, namespace string) string {
	v := s.view(namespace)
	switch t {
	case xds.CDS:
		return v.clusters.byName[name].GetVersion()
	case xds.LDS:
		return v.listeners.byName[name].GetVersion()
	case xds.RDS:
		return v.routesNamed([]string{name}, namespace).Resources[0].GetVersion()
	default:
		return s.assignments[name].GetVersion()
	}
}
