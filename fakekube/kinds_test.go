package fakekube_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/xdsbench/xdsbench/fakekube"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// kind is a served kind of client-go's scheme.
type kind struct {
	gvk      schema.GroupVersionKind
	resource metav1.APIResource
}

func (k kind) path() string {
	path := "/apis/" + k.gvk.Group + "/" + k.gvk.Version
	if k.gvk.Group == "" {
		path = "/api/v1"
	}
	if k.resource.Namespaced {
		path += "/namespaces/default"
	}
	return path + "/" + k.resource.Name
}

// builtinKinds lists the served kinds whose Go types client-go has.
func builtinKinds(t *testing.T, cfg *rest.Config) []kind {
	t.Helper()
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := disco.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []kind
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			gvk := gv.WithKind(r.Kind)
			if !strings.Contains(r.Name, "/") && scheme.Scheme.Recognizes(gvk) && len(r.Verbs) > 1 {
				kinds = append(kinds, kind{gvk: gvk, resource: r})
			}
		}
	}
	return kinds
}

// rawClient makes requests and returns bodies as they come.
func rawClient(t *testing.T, cfg *rest.Config) *rest.RESTClient {
	t.Helper()
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = scheme.Codecs
	cfg.GroupVersion = &schema.GroupVersion{Version: "v1"}
	client, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestEveryKindIsServedInBothEncodings(t *testing.T) {
	t.Parallel()
	_, server := start(t, fakekube.Options{})
	client := rawClient(t, server.RESTConfig())
	kinds := builtinKinds(t, server.RESTConfig())
	if len(kinds) < 50 {
		t.Fatalf("only %d kinds are served", len(kinds))
	}
	for _, k := range kinds {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(k.gvk)
		name := "a" + strings.ReplaceAll(k.gvk.Group, ".", "-") // Events are of two groups.
		u.SetName(name)
		u.SetLabels(map[string]string{"z": "1", "a": "2"})
		data, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Post().AbsPath(k.path()).SetHeader("Content-Type", "application/json").Body(data).Do(t.Context()).Error(); err != nil {
			t.Errorf("create %s: %v", k.gvk, err)
			continue
		}
		for _, path := range []string{k.path() + "/" + name, k.path()} {
			one, other := decode(t, client, path, "application/json"), decode(t, client, path, protobuf)
			if !reflect.DeepEqual(one, other) {
				t.Errorf("%s: JSON %+v\nprotobuf %+v", path, one, other)
			}
		}
	}
}

func decode(t *testing.T, client *rest.RESTClient, path, accept string) runtime.Object {
	t.Helper()
	data, err := client.Get().AbsPath(path).SetHeader("Accept", accept).Do(t.Context()).Raw()
	if err != nil {
		t.Fatalf("get %s as %s: %v", path, accept, err)
	}
	if isProto := bytes.HasPrefix(data, []byte("k8s\x00")); isProto != (accept == protobuf) {
		t.Errorf("%s: asked for %s and got %.20q", path, accept, data)
	}
	obj, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), data)
	if err != nil {
		t.Fatalf("decode %s as %s: %v", path, accept, err)
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return obj
}

func TestClientsetKnowsEveryKind(t *testing.T) {
	t.Parallel()
	store, server := start(t, fakekube.Options{})
	client := store.Clientset()
	for _, k := range builtinKinds(t, server.RESTConfig()) {
		list, err := client.Discovery().ServerResourcesForGroupVersion(k.gvk.GroupVersion().String())
		if err != nil || !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == k.gvk.Kind }) {
			t.Errorf("%s: %v", k.gvk, err)
		}
	}
}
