package fakekube_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
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
	status   bool
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
			if name, sub, ok := strings.Cut(r.Name, "/"); ok {
				if n := len(kinds); n > 0 && kinds[n-1].resource.Name == name {
					kinds[n-1].status = sub == "status"
				}
			} else if scheme.Scheme.Recognizes(gvk) && len(r.Verbs) > 1 {
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

// The store distinguishes a change of the spec from one of the status by the fields'
// numbers in protobuf.
func TestStatusIsFieldThreeOfEveryKind(t *testing.T) {
	t.Parallel()
	_, server := start(t, fakekube.Options{})
	for _, k := range builtinKinds(t, server.RESTConfig()) {
		obj, err := scheme.Scheme.New(k.gvk)
		if err != nil {
			t.Fatal(err)
		}
		typ := reflect.TypeOf(obj).Elem()
		metadata, _ := typ.FieldByName("ObjectMeta")
		if !strings.HasPrefix(metadata.Tag.Get("protobuf"), "bytes,1,") {
			t.Errorf("%s: metadata is %q", k.gvk, metadata.Tag)
		}
		status, ok := typ.FieldByName("Status")
		if k.status && (!ok || !strings.HasPrefix(status.Tag.Get("protobuf"), "bytes,3,")) {
			t.Errorf("%s: status is %q", k.gvk, status.Tag)
		}
	}
}

func TestEveryKindHasAList(t *testing.T) {
	t.Parallel()
	store, server := start(t, fakekube.Options{})
	client := store.Clientset()
	for _, k := range builtinKinds(t, server.RESTConfig()) {
		list, err := scheme.Scheme.New(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
		if err != nil || !meta.IsListType(list) {
			t.Errorf("%s has no list: %v", k.gvk, err)
		}
	}
	for _, list := range client.Resources {
		if len(list.APIResources) == 0 {
			t.Errorf("%s: the clientset knows no resources", list.GroupVersion)
		}
	}
	if _, err := client.Discovery().ServerResourcesForGroupVersion("discovery.k8s.io/v1"); err != nil {
		t.Error(err)
	}
}
