package fakekube

import (
	"net/http"
	"runtime"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// serverVersion is the Kubernetes version whose API is served.
func serverVersion() version.Info {
	return version.Info{
		Major: "1", Minor: "36", GitVersion: "v1.36.3+fakekube",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// pluralOf is the resource name of a review kind.
func pluralOf(kind schema.GroupVersionKind) string { return strings.ToLower(kind.Kind) + "s" }

// discover serves /api, /api/v1, /apis, /apis/GROUP and /apis/GROUP/VERSION.
func (s *Server) discover(w http.ResponseWriter, r *http.Request, parts []string) error {
	if r.Method != http.MethodGet {
		return errMethod()
	}
	accept, err := negotiate(r.Header.Get("Accept"), nil)
	if err != nil {
		accept = accepted{media: mediaJSON} // Protobuf alone is asked for; JSON says so in its type.
	}
	kinds := s.store.kinds
	switch {
	case len(parts) == 1 && accept.as == asGroups:
		w.Header().Set("Content-Type", mediaJSON+";g=apidiscovery.k8s.io;v=v2;as="+asGroups)
		return writeJSON(w, http.StatusOK, kinds.aggregated(parts[0] == "api"))
	case len(parts) == 1 && parts[0] == "api":
		return writeJSON(w, http.StatusOK, &metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: s.Addr()}},
		})
	case len(parts) == 1:
		return writeJSON(w, http.StatusOK, &metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: kinds.groups(),
		})
	case len(parts) == 2 && parts[0] == "apis":
		for _, g := range kinds.groups() {
			if g.Name == parts[1] {
				g.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
				return writeJSON(w, http.StatusOK, &g)
			}
		}
		return errUnknownPath()
	}
	list := kinds.resourceList(parseGroupVersion(strings.Join(parts[1:], "/")))
	if len(list.APIResources) == 0 {
		return errUnknownPath()
	}
	return writeJSON(w, http.StatusOK, list)
}

// groups lists the named groups, each with its versions by preference.
func (g *registry) groups() []metav1.APIGroup {
	groups := []metav1.APIGroup{}
	for _, gv := range g.groupVersions() {
		if gv.Group == "" {
			continue
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		if n := len(groups); n > 0 && groups[n-1].Name == gv.Group {
			groups[n-1].Versions = append(groups[n-1].Versions, v)
			continue
		}
		groups = append(groups, metav1.APIGroup{
			Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v,
		})
	}
	return groups
}

// resourceList lists the resources of one version.
func (g *registry) resourceList(gv schema.GroupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(),
		APIResources: []metav1.APIResource{},
	}
	for _, r := range g.all() {
		if r.gvk.GroupVersion() != gv {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.gvr.Resource, SingularName: r.singular, Namespaced: r.namespaced, Kind: r.gvk.Kind,
			Verbs: r.verbs(), ShortNames: r.shortNames, Categories: r.categories,
		})
		if r.status {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.gvr.Resource + "/status", Namespaced: r.namespaced, Kind: r.gvk.Kind,
				Verbs: metav1.Verbs{"get", "patch", "update"},
			})
		}
	}
	for _, kind := range reviewKinds() {
		if kind.GroupVersion() == gv {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: pluralOf(kind), SingularName: strings.ToLower(kind.Kind), Kind: kind.Kind,
				Namespaced: strings.HasPrefix(kind.Kind, "Local"), Verbs: metav1.Verbs{"create"},
			})
		}
	}
	return list
}

// aggregated is all of discovery in one answer: of the core group or of the
// named ones.
func (g *registry) aggregated(core bool) *apidiscoveryv2.APIGroupDiscoveryList {
	list := &apidiscoveryv2.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: asGroups, APIVersion: apidiscoveryv2.SchemeGroupVersion.String()},
		Items:    []apidiscoveryv2.APIGroupDiscovery{},
	}
	for _, gv := range g.groupVersions() {
		if (gv.Group == "") != core {
			continue
		}
		n := len(list.Items)
		if n == 0 || list.Items[n-1].Name != gv.Group {
			list.Items = append(list.Items, apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: gv.Group}})
			n++
		}
		list.Items[n-1].Versions = append(list.Items[n-1].Versions, g.aggregatedVersion(gv))
	}
	return list
}

func (g *registry) aggregatedVersion(gv schema.GroupVersion) apidiscoveryv2.APIVersionDiscovery {
	v := apidiscoveryv2.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
	for _, r := range g.resourceList(gv).APIResources {
		kind := &metav1.GroupVersionKind{Group: gv.Group, Version: gv.Version, Kind: r.Kind}
		if name, sub, ok := strings.Cut(r.Name, "/"); ok {
			last := &v.Resources[len(v.Resources)-1]
			if last.Resource == name {
				last.Subresources = append(last.Subresources, apidiscoveryv2.APISubresourceDiscovery{
					Subresource: sub, ResponseKind: kind, Verbs: r.Verbs,
				})
			}
			continue
		}
		scope := apidiscoveryv2.ScopeCluster
		if r.Namespaced {
			scope = apidiscoveryv2.ScopeNamespace
		}
		v.Resources = append(v.Resources, apidiscoveryv2.APIResourceDiscovery{
			Resource: r.Name, ResponseKind: kind, Scope: scope, SingularResource: r.SingularName,
			Verbs: r.Verbs, ShortNames: r.ShortNames, Categories: r.Categories,
		})
	}
	return v
}
