// Package kinds says what the API server serves: the built-in kinds, those that
// CustomResourceDefinitions add, and the discovery documents that list them.
package kinds

import (
	"runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Resource is one served version of one kind. It does not change once it is
// registered; a changed CustomResourceDefinition registers new ones.
type Resource struct {
	GVK        schema.GroupVersionKind
	GVR        schema.GroupVersionResource
	Singular   string
	ListKind   string
	ShortNames []string
	Categories []string
	Columns    []Column // what kubectl prints of a custom resource

	Namespaced bool
	Typed      bool // its Go type is in client-go's scheme
	Status     bool // it has the status subresource
	Review     bool // it can only be created, and is answered instead of stored

	Generation          bool // metadata.generation counts changes of its spec
	AllowCreateOnUpdate bool // an update of what is not there creates it
	RequireVersion      bool // an update must name a resourceVersion
	ReturnDeleted       bool // a deletion is answered with the object, not a Status
	// EncodedOnly marks kinds with many objects that are seldom looked at: the
	// store keeps only their protobuf.
	EncodedOnly bool

	// Storage is the version that objects are stored in.
	Storage *Resource
}

// Column is a printer column of a custom resource.
type Column struct {
	Name string
	Type string // string, integer or date
	Path string // JSONPath of the value, without braces
	Wide bool   // shown by kubectl get -o wide only
}

// GroupResource names the resource in all its versions.
func (r *Resource) GroupResource() schema.GroupResource { return r.GVR.GroupResource() }

// verbs are the verbs that discovery reports.
func (r *Resource) verbs() metav1.Verbs {
	switch {
	case r.Review:
		return metav1.Verbs{"create"}
	case r.GVR.Resource == "namespaces" && r.GVR.Group == "":
		return metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}
	}
	return metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// ServerVersion is the Kubernetes version whose API is served.
func ServerVersion() *version.Info {
	return &version.Info{
		Major: "1", Minor: "36", GitVersion: "v1.36.3+fakekube",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}
