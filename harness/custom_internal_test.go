package harness

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"

	"github.com/xdsbench/xdsbench/fakekube"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/mesh/custom"
)

// routeCRD defines the namespaced kind Route and the cluster-scoped kind Class.
const routeCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: routes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: routes, kind: Route}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: classes.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: classes, kind: Class}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// Entries of mesh.objects: a Route per service, a Class, and an object of a kind that
// the API server serves without a definition.
func routeTemplates() []custom.Template {
	return []custom.Template{
		{PerService: true, File: custom.File{Text: "apiVersion: example.com/v1\nkind: Route\nmetadata: {name: '{{.Name}}'}\nspec: {host: '{{.Host}}'}\n"}},
		{Once: true, File: custom.File{Text: "apiVersion: example.com/v1\nkind: Class\nmetadata: {name: gateway}\n"}},
		{PerNamespace: true, File: custom.File{Text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"}},
	}
}

// customMesh is a small mesh with custom objects.
func customMesh(t *testing.T, objects []custom.Template, crds ...custom.File) *mesh.Mesh {
	t.Helper()
	spec := mesh.DefaultSpec()
	spec.Namespaces, spec.Services, spec.EndpointsPerService = 2, 4, 1
	spec.Objects, spec.CRDs = objects, crds
	m, err := mesh.New(mesh.Config{Spec: spec, Seed: 1, RunID: "one"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// writeAll writes a mesh with its custom objects as a run does.
func writeAll(t *testing.T, k *kube, m *mesh.Mesh) error {
	t.Helper()
	r := &run{mesh: m, kube: k, log: slog.New(slog.DiscardHandler)}
	kinds, err := k.kindsOf(t.Context(), m)
	if err != nil {
		return err
	}
	if err := seed(t.Context(), k.client, m, func(int) {}); err != nil {
		return err
	}
	return r.createCustom(t.Context(), kinds)
}

// asReal starts an in-memory API server and opens it as one that the user named.
func asReal(t *testing.T) (*kube, *fakekube.Store) {
	t.Helper()
	store := fakekube.NewStore(fakekube.Options{})
	server := fakekube.NewServer(store, fakekube.ServerOptions{})
	if err := server.Start(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := server.WriteKubeconfig(kubeconfig); err != nil {
		t.Fatal(err)
	}
	k, err := openKube(t.Context(), kubeconfig, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.close(); err != nil {
			t.Error(err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return k, store
}

// names lists the objects of a resource in all namespaces.
func names(t *testing.T, k *kube, gvr schema.GroupVersionResource) string {
	t.Helper()
	list, err := k.dynamic.Resource(gvr).List(t.Context(), metav1.ListOptions{LabelSelector: mesh.RunLabel + "=one"})
	if err != nil {
		return err.Error()
	}
	var all []string
	for i := range list.Items {
		all = append(all, list.Items[i].GetNamespace()+"/"+list.Items[i].GetName())
	}
	return strings.Join(all, " ")
}

func example(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: resource}
}

func TestCustomObjectsAreWrittenAndCleanedWithTheirDefinitions(t *testing.T) {
	t.Parallel()
	k, _ := asReal(t)
	if err := writeAll(t, k, customMesh(t, routeTemplates(), custom.File{Text: routeCRD})); err != nil {
		t.Fatal(err)
	}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	for gvr, want := range map[schema.GroupVersionResource]string{
		example("routes"):  "xb-0/svc-0 xb-0/svc-2 xb-1/svc-1 xb-1/svc-3",
		example("classes"): "/gateway",
		configMaps:         "xb-0/settings xb-1/settings",
	} {
		if got := names(t, k, gvr); got != want {
			t.Errorf("%s: %s, want %s", gvr.Resource, got, want)
		}
	}
	own := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "somebody-elses"},
	}}
	if _, err := k.dynamic.Resource(configMaps).Namespace("default").Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Two namespaces, three nodes, the class and two definitions.
	if n, err := Clean(t.Context(), k.client, k.dynamic, "one"); n != 8 || err != nil {
		t.Errorf("removed %d: %v", n, err)
	}
	for _, gvr := range []schema.GroupVersionResource{definitions(), configMaps} {
		if left := names(t, k, gvr); left != "" {
			t.Errorf("%s are left: %s", gvr.Resource, left)
		}
	}
	if _, err := k.dynamic.Resource(configMaps).Namespace("default").Get(t.Context(), "somebody-elses", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestDefinitionThatOthersUseIsNotRemoved(t *testing.T) {
	t.Parallel()
	k, _ := asReal(t)
	if err := writeAll(t, k, customMesh(t, nil, custom.File{Text: routeCRD})); err != nil {
		t.Fatal(err)
	}
	own := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Route", "metadata": map[string]any{"name": "somebody-elses"},
	}}
	client := k.dynamic.Resource(example("routes")).Namespace("default")
	if _, err := client.Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := Clean(t.Context(), k.client, k.dynamic, "")
	if err == nil || !strings.Contains(err.Error(), "routes.example.com: others have objects") {
		t.Errorf("error %v", err)
	}
	if _, err := client.Get(t.Context(), "somebody-elses", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestDefinitionThatIsThereAlreadyStaysAsItIs(t *testing.T) {
	t.Parallel()
	k, _ := asReal(t)
	all, err := custom.Definitions([]custom.File{{Text: routeCRD}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if _, err := k.dynamic.Resource(definitions()).Create(t.Context(), d.Unstructured, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeAll(t, k, customMesh(t, routeTemplates(), custom.File{Text: routeCRD})); err != nil {
		t.Fatal(err)
	}
	if _, err := Clean(t.Context(), k.client, k.dynamic, "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.dynamic.Resource(definitions()).Get(t.Context(), "routes.example.com", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestKindsThatAreNotServedAreAllNamedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	k, err := openKube(t.Context(), "", "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := k.close(); err != nil {
			t.Error(err)
		}
	}()
	homeless := custom.Template{Once: true, File: custom.File{Text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"}}
	err = writeAll(t, k, customMesh(t, append(routeTemplates(), homeless)))
	for _, want := range []string{
		"mesh.objects[0].template: the API server does not serve the kind Route of example.com/v1: its CustomResourceDefinition is missing",
		"mesh.objects[1].template: the API server does not serve the kind Class of example.com/v1",
		"mesh.objects[3].template: ConfigMap settings needs a namespace",
	} {
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("want once %q: %v", want, err)
		}
	}
	if namespaces, nodes := count(t, k.client); nodes != 0 || namespaces > 4 {
		t.Errorf("%d namespaces and %d nodes were written", namespaces, nodes)
	}
}

func TestCustomKindsThatTheUserMayNotWriteAreListed(t *testing.T) {
	t.Parallel()
	k, store := asReal(t)
	client := store.Clientset()
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a k8stesting.Action) (bool, runtime.Object, error) {
		review, ok := a.(k8stesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		return ok, review, nil
	})
	k.client = client
	_, err := k.kindsOf(t.Context(), customMesh(t, routeTemplates(), custom.File{Text: routeCRD}))
	for _, want := range []string{"create routes", "delete classes", "create configmaps", "create customresourcedefinitions"} {
		if err == nil || strings.Count(err.Error(), "may not "+want) != 1 {
			t.Errorf("want once %q: %v", want, err)
		}
	}
}
