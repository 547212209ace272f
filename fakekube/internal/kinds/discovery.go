package kinds

import (
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// AggregatedDiscovery is the whole of discovery in one document, for the core
// group or for the named groups.
func (g *Registry) AggregatedDiscovery(core bool) *apidiscoveryv2.APIGroupDiscoveryList {
	list := &apidiscoveryv2.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscoveryv2.SchemeGroupVersion.String()},
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
		list.Items[n-1].Versions = append(list.Items[n-1].Versions, g.discoverVersion(gv))
	}
	return list
}

func (g *Registry) discoverVersion(gv schema.GroupVersion) apidiscoveryv2.APIVersionDiscovery {
	v := apidiscoveryv2.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
	for _, r := range g.All() {
		if r.GVK.GroupVersion() != gv {
			continue
		}
		kind := &metav1.GroupVersionKind{Group: gv.Group, Version: gv.Version, Kind: r.GVK.Kind}
		d := apidiscoveryv2.APIResourceDiscovery{
			Resource: r.GVR.Resource, ResponseKind: kind, Scope: apidiscoveryv2.ScopeCluster, SingularResource: r.Singular,
			Verbs: r.verbs(), ShortNames: r.ShortNames, Categories: r.Categories,
		}
		if r.Namespaced {
			d.Scope = apidiscoveryv2.ScopeNamespace
		}
		if r.Status {
			d.Subresources = []apidiscoveryv2.APISubresourceDiscovery{{
				Subresource: "status", ResponseKind: kind, Verbs: metav1.Verbs{"get", "patch", "update"},
			}}
		}
		v.Resources = append(v.Resources, d)
	}
	return v
}

// LegacyDiscovery is the same as AggregatedDiscovery in the documents that
// older clients ask for one by one.
func (g *Registry) LegacyDiscovery(core bool) (*metav1.APIGroupList, map[schema.GroupVersion]*metav1.APIResourceList) {
	groups, resources, _ := discovery.SplitGroupsAndResources(*g.AggregatedDiscovery(core)) // Nothing here is stale.
	groups.TypeMeta = metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}
	for _, list := range resources {
		list.TypeMeta = metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}
	}
	return groups, resources
}
