package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/mesh/custom"
)

// establishLimit is how long an API server may take to serve the kind of a new
// CustomResourceDefinition, and to drop one.
const establishLimit = 30 * time.Second

// kindOfObject is how the API server serves a kind.
type kindOfObject struct {
	gvr        schema.GroupVersionResource
	namespaced bool
}

// definitions is the resource of CustomResourceDefinitions.
func definitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// kindsOf finds out how the API server serves, or will serve, the kinds of the mesh's
// custom objects, and whether the user may write them. The error has a line for each
// problem.
func (c *kube) kindsOf(ctx context.Context, m *mesh.Mesh) (map[schema.GroupVersionKind]kindOfObject, error) {
	kinds := map[schema.GroupVersionKind]kindOfObject{}
	var resources []schema.GroupResource
	for _, d := range m.Definitions {
		defined(d.Unstructured, kinds)
		resources = append(resources, definitions().GroupResource())
	}
	var problems []error
	unknown := map[schema.GroupVersionKind]bool{}
	for _, o := range m.Custom {
		gvk := o.GroupVersionKind()
		kind, ok := kinds[gvk]
		if !ok && !unknown[gvk] {
			var err error
			if kind, err = served(c.discovery, gvk); err != nil {
				unknown[gvk] = true
				problems = append(problems, fmt.Errorf("%s: %w", o.Field, err))
			} else {
				kinds[gvk], ok = kind, true
			}
		}
		if ok && kind.namespaced && o.Home == "" && o.GetNamespace() == "" {
			problems = append(problems, fmt.Errorf("%s: %s %s needs a namespace: give it one of the mesh's", o.Field, gvk.Kind, o.GetName()))
		}
		resources = append(resources, kind.gvr.GroupResource())
	}
	slices.SortFunc(resources, func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
	resources = slices.DeleteFunc(slices.Compact(resources), schema.GroupResource.Empty)
	if c.real() {
		problems = append(problems, mayWrite(ctx, c.client, resources))
	}
	return kinds, errors.Join(problems...)
}

// defined adds the kinds that a CustomResourceDefinition will make the API server serve.
func defined(d *unstructured.Unstructured, kinds map[schema.GroupVersionKind]kindOfObject) {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(d.Object, fields...)
		return value
	}
	versions, _, _ := unstructured.NestedSlice(d.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok || version["served"] != true {
			continue
		}
		name, _ := version["name"].(string)
		gv := schema.GroupVersion{Group: text("spec", "group"), Version: name}
		kinds[gv.WithKind(text("spec", "names", "kind"))] = kindOfObject{
			gvr: gv.WithResource(text("spec", "names", "plural")), namespaced: text("spec", "scope") == "Namespaced",
		}
	}
}

// served asks the API server how it serves a kind.
func served(api discovery.DiscoveryInterface, gvk schema.GroupVersionKind) (kindOfObject, error) {
	list, err := api.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
	if err != nil && !apierrors.IsNotFound(err) {
		return kindOfObject{}, fmt.Errorf("asking which kinds are served: %w", err)
	}
	if err == nil {
		for i := range list.APIResources {
			if r := &list.APIResources[i]; r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") {
				return kindOfObject{gvr: gvk.GroupVersion().WithResource(r.Name), namespaced: r.Namespaced}, nil
			}
		}
	}
	return kindOfObject{}, fmt.Errorf("the API server does not serve the kind %s of %s: its CustomResourceDefinition is missing: name a file that has it in mesh.crds",
		gvk.Kind, gvk.GroupVersion())
}

// createCustom writes the CustomResourceDefinitions, waits until their kinds are
// served, and writes the custom objects.
func (r *run) createCustom(ctx context.Context, kinds map[schema.GroupVersionKind]kindOfObject) error {
	if len(r.mesh.Definitions) > 0 {
		r.setDetail("custom resource definitions")
	}
	err := createAll(ctx, r.mesh.Definitions, func(ctx context.Context, d custom.Object) error {
		_, err := r.kube.dynamic.Resource(definitions()).Create(ctx, d.Unstructured, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // it is somebody else's, and stays
		}
		return namedError(d, err)
	})
	if err != nil {
		return err
	}
	if len(r.mesh.Definitions) > 0 {
		if err := r.awaitServed(ctx, kinds); err != nil {
			return err
		}
	}
	if len(r.mesh.Custom) > 0 {
		r.setDetail(fmt.Sprintf("%d custom objects", len(r.mesh.Custom)))
	}
	err = createAll(ctx, r.mesh.Custom, func(ctx context.Context, o custom.Object) error {
		kind := kinds[o.GroupVersionKind()]
		if kind.namespaced && o.GetNamespace() == "" {
			o.SetNamespace(o.Home)
		}
		_, err := inNamespace(r.kube.dynamic, kind.gvr, o.GetNamespace()).Create(ctx, o.Unstructured, metav1.CreateOptions{})
		return namedError(o, explainExisting(err))
	})
	r.mesh.Definitions, r.mesh.Custom = nil, nil // their objects are made
	return err
}

// awaitServed waits until the API server serves all kinds.
func (r *run) awaitServed(ctx context.Context, kinds map[schema.GroupVersionKind]kindOfObject) error {
	var last error
	for gvk := range kinds {
		err := poll(ctx, establishLimit, func() bool {
			_, last = served(r.kube.discovery, gvk)
			return last == nil
		})
		if errors.Is(err, errLimit) {
			return fmt.Errorf("mesh.crds: %s after its CustomResourceDefinition was written: %w", establishLimit, last)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func namedError(o custom.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s %s: %w", o.Field, o.GetKind(), strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/"), err)
}

// inNamespace is the resource in a namespace, or as a whole if that is "".
func inNamespace(client dynamic.Interface, gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return client.Resource(gvr)
	}
	return client.Resource(gvr).Namespace(namespace)
}
