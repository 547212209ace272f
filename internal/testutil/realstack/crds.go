package realstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// applyCRDs creates Istio's custom resource definitions, and waits until the API
// server serves them all.
func (s *Stack) applyCRDs(tb testing.TB) {
	tb.Helper()
	client, err := dynamic.NewForConfig(s.Config)
	check(tb, err)
	crds := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	names := []string{}
	for _, crd := range readObjects(tb, Binary(tb, "istio-crds.yaml")) {
		_, err := crds.Create(tb.Context(), crd, metav1.CreateOptions{})
		check(tb, err)
		names = append(names, crd.GetName())
	}
	await(tb, "Istio's CRDs", s.apiserver, func(ctx context.Context) error {
		for len(names) > 0 {
			crd, err := crds.Get(ctx, names[0], metav1.GetOptions{})
			if err != nil {
				return err
			}
			if !established(crd) {
				return fmt.Errorf("CRD %s is not established", names[0])
			}
			names = names[1:]
		}
		return nil
	})
}

// readObjects reads a file of YAML documents, empty ones left out.
func readObjects(tb testing.TB, path string) []*unstructured.Unstructured {
	tb.Helper()
	f, err := os.Open(path)
	check(tb, err)
	defer func() { _ = f.Close() }()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(f, 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		check(tb, err)
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// established reports whether a CRD's condition Established is true.
func established(crd *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if ok && condition["type"] == "Established" && condition["status"] == "True" {
			return true
		}
	}
	return false
}
