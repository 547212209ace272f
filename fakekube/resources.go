package fakekube

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource is one served version of one kind. It does not change once it is
// registered; a changed CustomResourceDefinition registers new ones.
type resource struct {
	gvk        schema.GroupVersionKind
	gvr        schema.GroupVersionResource
	singular   string
	listKind   string
	shortNames []string
	categories []string
	columns    []column // printer columns of a custom resource

	namespaced     bool
	typed          bool // its Go type is in client-go's scheme
	status         bool // it has the status subresource
	generation     bool // metadata.generation counts changes of its spec
	createOnUpdate bool
	conditional    bool // an update must name a resourceVersion
	returnDeleted  bool // deletion answers with the object, not a Status
	// decode is set for compact kinds, of which there are many objects that are
	// seldom looked at: their encoding alone is kept.
	decode func(raw []byte) (runtime.Object, error)

	// table holds the objects, shared by all versions of the kind, in the
	// version of storage.
	table   *table
	storage *resource

	jsonHead string // opening of an object in JSON, up to its metadata
	jsonList string // opening of a list in JSON, up to its resourceVersion
	typeMeta []byte // TypeMeta of an object as a protobuf message
	listMeta []byte // TypeMeta of a list as a protobuf message
}

func (r *resource) groupResource() schema.GroupResource { return r.gvr.GroupResource() }

func (r *resource) prepareHeads() {
	apiVersion := r.gvk.GroupVersion().String()
	r.jsonHead = `{"kind":"` + r.gvk.Kind + `","apiVersion":"` + apiVersion + `",`
	r.jsonList = `{"kind":"` + r.listKind + `","apiVersion":"` + apiVersion + `","metadata":{"resourceVersion":"`
	r.typeMeta = protoTypeMeta(apiVersion, r.gvk.Kind)
	r.listMeta = protoTypeMeta(apiVersion, r.listKind)
}

// verbs are the verbs discovery reports.
func (r *resource) verbs() metav1.Verbs {
	verbs := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	if r.gvr.Resource == "namespaces" && r.gvr.Group == "" {
		verbs = slices.DeleteFunc(verbs, func(v string) bool { return v == "deletecollection" })
	}
	return verbs
}

// registry holds what is served. Built-in kinds stay; custom ones come and go.
type registry struct {
	mu    sync.RWMutex
	order []*resource // in order of registration, which discovery keeps
	byGVR map[schema.GroupVersionResource]*resource
}

func newRegistry() *registry {
	return &registry{byGVR: map[schema.GroupVersionResource]*resource{}}
}

// add registers resources, in place of those with the same name and version.
func (g *registry) add(resources ...*resource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range resources {
		if old := g.byGVR[r.gvr]; old != nil {
			g.order[slices.Index(g.order, old)] = r
		} else {
			g.order = append(g.order, r)
		}
		g.byGVR[r.gvr] = r
	}
}

// remove takes every version of a kind out, except those in keep.
func (g *registry) remove(gr schema.GroupResource, keep ...*resource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.order = slices.DeleteFunc(g.order, func(r *resource) bool {
		gone := r.groupResource() == gr && !slices.Contains(keep, r)
		if gone {
			delete(g.byGVR, r.gvr)
		}
		return gone
	})
}

// lookup finds a served resource, or says 404 as an API server does for a
// path it does not know.
func (g *registry) lookup(gvr schema.GroupVersionResource) (*resource, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if r := g.byGVR[gvr]; r != nil {
		return r, nil
	}
	return nil, errUnknownPath()
}

// all lists what is served, in order.
func (g *registry) all() []*resource {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Clone(g.order)
}

// groupVersions lists the served versions, each once, in order. Versions of
// one group are sorted as Kubernetes prefers them: stable, beta, alpha.
func (g *registry) groupVersions() []schema.GroupVersion {
	var out []schema.GroupVersion
	for _, r := range g.all() {
		if gv := r.gvk.GroupVersion(); !slices.Contains(out, gv) {
			out = append(out, gv)
		}
	}
	for _, r := range reviewKinds() {
		if gv := r.GroupVersion(); !slices.Contains(out, gv) {
			out = append(out, gv)
		}
	}
	slices.SortStableFunc(out, func(a, b schema.GroupVersion) int {
		if c := strings.Compare(a.Group, b.Group); c != 0 {
			return c
		}
		return stability(a.Version) - stability(b.Version)
	})
	return out
}

func stability(version string) int {
	switch {
	case strings.Contains(version, "alpha"):
		return 2
	case strings.Contains(version, "beta"):
		return 1
	}
	return 0
}

// errUnknownPath is the answer to a path that is not served.
func errUnknownPath() *apierrors.StatusError {
	return statusError(http.StatusNotFound, metav1.StatusReasonNotFound,
		"the server could not find the requested resource")
}

// errMethod is the answer to a verb that a path does not have.
func errMethod() *apierrors.StatusError {
	return statusError(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"the server does not allow this method on the requested resource")
}

func statusError(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{},
	}}
}
