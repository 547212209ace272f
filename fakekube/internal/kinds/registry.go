package kinds

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Registry holds what is served. Built-in kinds stay; custom ones come and go.
type Registry struct {
	mu    sync.RWMutex
	order []*Resource // in order of registration, which discovery keeps
	byGVR map[schema.GroupVersionResource]*Resource
}

// NewRegistry returns a registry of the built-in kinds.
func NewRegistry() *Registry {
	g := &Registry{byGVR: map[schema.GroupVersionResource]*Resource{}}
	g.addLocked(Builtin())
	return g
}

// Replace registers the versions of a kind that are served from now on, and
// drops all others of it.
func (g *Registry) Replace(gr schema.GroupResource, served ...*Resource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.addLocked(served)
	g.order = slices.DeleteFunc(g.order, func(r *Resource) bool {
		drop := r.GroupResource() == gr && !slices.Contains(served, r)
		if drop {
			delete(g.byGVR, r.GVR)
		}
		return drop
	})
}

// addLocked adds resources, in place of those with the same name and version.
func (g *Registry) addLocked(resources []*Resource) {
	for _, r := range resources {
		if old := g.byGVR[r.GVR]; old != nil {
			g.order[slices.Index(g.order, old)] = r
		} else {
			g.order = append(g.order, r)
		}
		g.byGVR[r.GVR] = r
	}
}

// Lookup finds a served resource; what is not served is NotServed.
func (g *Registry) Lookup(gvr schema.GroupVersionResource) (*Resource, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if r := g.byGVR[gvr]; r != nil {
		return r, nil
	}
	return nil, NotServed()
}

// All lists what is served, in order.
func (g *Registry) All() []*Resource {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Clone(g.order)
}

// groupVersions lists the served versions, each once, by group and in the order
// that Kubernetes prefers them in: stable, beta, alpha.
func (g *Registry) groupVersions() []schema.GroupVersion {
	var out []schema.GroupVersion
	for _, r := range g.All() {
		if gv := r.GVK.GroupVersion(); !slices.Contains(out, gv) {
			out = append(out, gv)
		}
	}
	slices.SortStableFunc(out, func(a, b schema.GroupVersion) int {
		if c := strings.Compare(a.Group, b.Group); c != 0 {
			return c
		}
		return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
	})
	return out
}
