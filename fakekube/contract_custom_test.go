package fakekube_test

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/discovery"
)

func customTests() []test {
	return []test{
		{"CustomResources", testCustom},
		{"CustomResourceStatus", testCustomStatus},
		{"CustomResourceVersions", testCustomVersions},
		{"CustomResourceApply", testCustomApply},
		{"CustomResourceDefinitionIsChecked", testCustomInvalid},
		{"CustomResourceDefinitionGoes", testCustomGone},
	}
}

func crds() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// definition describes a fresh kind with versions v1 (stored) and v1beta1.
func definition() *unstructured.Unstructured {
	id := rand.String(5)
	version := func(name string, storage bool) any {
		return map[string]any{
			"name": name, "served": true, "storage": storage,
			"subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			}},
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "things" + id + ".contract.test"},
		"spec": map[string]any{
			"group": "contract.test", "scope": "Namespaced",
			"names":    map[string]any{"plural": "things" + id, "kind": "Thing" + id},
			"versions": []any{version("v1", true), version("v1beta1", false)},
		},
	}}
}

// customResource makes a fresh kind and waits until it is served.
func (s *suite) customResource(tb testing.TB) schema.GroupVersionResource {
	tb.Helper()
	crd := must(s.dynamic.Resource(crds()).Create(tb.Context(), definition(), metav1.CreateOptions{}))(tb)
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	gvr := schema.GroupVersionResource{Group: "contract.test", Version: "v1", Resource: plural}
	eventually(tb, "established", func() bool {
		_, err := s.dynamic.Resource(gvr).List(tb.Context(), metav1.ListOptions{})
		return err == nil
	})
	return gvr
}

func (s *suite) kindOf(tb testing.TB, gvr schema.GroupVersionResource) string {
	tb.Helper()
	crd := must(s.dynamic.Resource(crds()).Get(tb.Context(), gvr.Resource+".contract.test", metav1.GetOptions{}))(tb)
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return kind
}

func thing(gvr schema.GroupVersionResource, kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gvr.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": name},
		"spec":   map[string]any{"size": int64(1), "hosts": []any{"a", "b"}},
		"status": map[string]any{"phase": "given"},
	}}
}

func testCustom(t *serverTest) {
	gvr := t.customResource(t)
	kind := t.kindOf(t, gvr)
	things := t.dynamic.Resource(gvr).Namespace(t.namespace(t))
	made := must(things.Create(t.Context(), thing(gvr, kind, "a"), metav1.CreateOptions{}))(t)
	want(t, "generation", made.GetGeneration(), 1)
	list := must(things.List(t.Context(), metav1.ListOptions{}))(t)
	want(t, "list kind", list.GetKind(), kind+"List")
	want(t, "items", len(list.Items), 1)

	made.Object["spec"] = map[string]any{"size": int64(2)}
	updated := must(things.Update(t.Context(), made, metav1.UpdateOptions{}))(t)
	want(t, "generation", updated.GetGeneration(), 2)
	updated.SetLabels(map[string]string{"a": "b"})
	labelled := must(things.Update(t.Context(), updated, metav1.UpdateOptions{}))(t)
	want(t, "generation after a label", labelled.GetGeneration(), 2)
	_, err := things.Update(t.Context(), made, metav1.UpdateOptions{})
	wantError(t, "stale update", err, apierrors.IsConflict)
	labelled.SetResourceVersion("")
	_, err = things.Update(t.Context(), labelled, metav1.UpdateOptions{})
	wantError(t, "update without version", err, apierrors.IsInvalid)

	patched := must(things.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"size":3}}`), metav1.PatchOptions{}))(t)
	size, _, _ := unstructured.NestedInt64(patched.Object, "spec", "size")
	want(t, "size", size, 3)
	_, err = things.Patch(t.Context(), "a", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	wantError(t, "strategic patch", err, apierrors.IsUnsupportedMediaType)

	disco := must(discovery.NewDiscoveryClientForConfig(t.config))(t)
	eventually(t, "discovery shows the kind", func() bool {
		resources, err := disco.ServerResourcesForGroupVersion("contract.test/v1")
		if err != nil {
			return false
		}
		for _, r := range resources.APIResources {
			if r.Name == gvr.Resource {
				return r.Kind == kind && r.Namespaced
			}
		}
		return false
	})
}

func testCustomStatus(t *serverTest) {
	gvr := t.customResource(t)
	things := t.dynamic.Resource(gvr).Namespace(t.namespace(t))
	made := must(things.Create(t.Context(), thing(gvr, t.kindOf(t, gvr), "a"), metav1.CreateOptions{}))(t)
	phase := func(u *unstructured.Unstructured) string {
		v, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		return v
	}
	want(t, "status at creation", phase(made), "")
	made.Object["status"] = map[string]any{"phase": "set"}
	made.Object["spec"] = map[string]any{"size": int64(9)}
	set := must(things.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}))(t)
	want(t, "status", phase(set), "set")
	size, _, _ := unstructured.NestedInt64(set.Object, "spec", "size")
	want(t, "spec", size, 1)
	want(t, "generation", set.GetGeneration(), 1)
	set.Object["status"] = map[string]any{"phase": "ignored"}
	set.SetLabels(map[string]string{"a": "b"})
	kept := must(things.Update(t.Context(), set, metav1.UpdateOptions{}))(t)
	want(t, "status after an update", phase(kept), "set")
}

func testCustomVersions(t *serverTest) {
	gvr := t.customResource(t)
	kind, ns := t.kindOf(t, gvr), t.namespace(t)
	beta := gvr.GroupResource().WithVersion("v1beta1")
	made := must(t.dynamic.Resource(beta).Namespace(ns).Create(t.Context(), thing(beta, kind, "a"), metav1.CreateOptions{}))(t)
	want(t, "made in", made.GetAPIVersion(), "contract.test/v1beta1")
	stable := must(t.dynamic.Resource(gvr).Namespace(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	want(t, "read in", stable.GetAPIVersion(), "contract.test/v1")
	want(t, "uid", stable.GetUID(), made.GetUID())
}

func testCustomApply(t *serverTest) {
	gvr := t.customResource(t)
	things := t.dynamic.Resource(gvr).Namespace(t.namespace(t))
	config := thing(gvr, t.kindOf(t, gvr), "a")
	delete(config.Object, "status")
	must(things.Apply(t.Context(), "a", config, metav1.ApplyOptions{FieldManager: "m"}))(t)
	config.Object["spec"] = map[string]any{"hosts": []any{"c"}}
	got := must(things.Apply(t.Context(), "a", config, metav1.ApplyOptions{FieldManager: "m"}))(t)
	want(t, "spec", fmt.Sprint(got.Object["spec"]), "map[hosts:[c]]")
	status := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": config.GetAPIVersion(), "kind": config.GetKind(), "metadata": map[string]any{"name": "a"},
		"status": map[string]any{"phase": "applied"},
	}}
	got = must(things.ApplyStatus(t.Context(), "a", status, metav1.ApplyOptions{FieldManager: "n"}))(t)
	want(t, "status", fmt.Sprint(got.Object["status"], got.Object["spec"]), "map[phase:applied] map[hosts:[c]]")
}

func testCustomInvalid(t *serverTest) {
	crd := definition()
	crd.SetName("other.contract.test")
	_, err := t.dynamic.Resource(crds()).Create(t.Context(), crd, metav1.CreateOptions{})
	wantError(t, "a definition with the wrong name", err, apierrors.IsInvalid)
}

func testCustomGone(t *serverTest) {
	gvr := t.customResource(t)
	things := t.dynamic.Resource(gvr).Namespace(t.namespace(t))
	must(things.Create(t.Context(), thing(gvr, t.kindOf(t, gvr), "a"), metav1.CreateOptions{}))(t)
	if err := t.dynamic.Resource(crds()).Delete(t.Context(), gvr.Resource+".contract.test", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no longer served", func() bool {
		_, err := things.List(t.Context(), metav1.ListOptions{})
		return apierrors.IsNotFound(err)
	})
}
