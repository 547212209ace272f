package fakekube_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

func encodingTests() []test {
	return []test{
		{"ProtobufAndJSONShowTheSame", testEncodings},
		{"ProtobufWrites", testProtoWrites},
		{"PartialObjectMetadata", testPartial},
		{"Table", testTable},
		{"Discovery", testDiscovery},
		{"EventsInBothGroups", testEvents},
		{"HTTPErrors", testHTTPErrors},
		{"AccessReview", testReview},
	}
}

func testEncodings(t *serverTest) {
	ns := t.namespace(t)
	must(t.client.CoreV1().Pods(ns).Create(t.Context(), pod("a", "node-1"), metav1.CreateOptions{}))(t)
	must(t.proto.CoreV1().Pods(ns).Create(t.Context(), pod("b", "node-1"), metav1.CreateOptions{}))(t)
	one := must(t.client.CoreV1().Pods(ns).Get(t.Context(), "b", metav1.GetOptions{}))(t)
	other := must(t.proto.CoreV1().Pods(ns).Get(t.Context(), "b", metav1.GetOptions{}))(t)
	if !reflect.DeepEqual(one.Spec, other.Spec) || one.ResourceVersion != other.ResourceVersion {
		t.Errorf("JSON: %+v\nprotobuf: %+v", one, other)
	}
	list := must(t.client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{}))(t)
	protoList := must(t.proto.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{}))(t)
	want(t, "items", len(protoList.Items), 2)
	for i := range list.Items {
		if !reflect.DeepEqual(list.Items[i].Spec, protoList.Items[i].Spec) || list.Items[i].UID != protoList.Items[i].UID {
			t.Errorf("item %d differs", i)
		}
	}
}

func testProtoWrites(t *serverTest) {
	ns := t.namespace(t)
	maps := t.proto.CoreV1().ConfigMaps(ns)
	a := must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}))(t)
	a.Data = map[string]string{"k": "<&>"}
	a = must(maps.Update(t.Context(), a, metav1.UpdateOptions{}))(t)
	got := must(t.client.CoreV1().ConfigMaps(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	want(t, "data", got.Data["k"], "<&>")
	want(t, "version", got.ResourceVersion, a.ResourceVersion)
	if err := maps.Delete(t.Context(), "a", *metav1.NewPreconditionDeleteOptions(string(a.UID))); err != nil {
		t.Error(err)
	}
}

func testPartial(t *serverTest) {
	ns := t.namespace(t)
	a := t.configMap(t, ns, "a", map[string]string{"x": "y"})
	maps := t.metadata.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(ns)
	got := must(maps.Get(t.Context(), "a", metav1.GetOptions{}))(t)
	want(t, "label", got.Labels["x"], "y")
	list := must(maps.List(t.Context(), metav1.ListOptions{}))(t)
	want(t, "items", len(list.Items), 1)
	want(t, "uid", list.Items[0].UID, a.UID)
	w := must(maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion}))(t)
	defer w.Stop()
	t.configMap(t, ns, "b", nil)
	if p, ok := next(t, w).Object.(*metav1.PartialObjectMetadata); !ok || p.Name != "b" {
		t.Errorf("watched: %+v", p)
	}
	gvr := t.customResource(t)
	things := t.dynamic.Resource(gvr).Namespace(ns)
	must(things.Create(t.Context(), thing(gvr, t.kindOf(t, gvr), "c"), metav1.CreateOptions{}))(t)
	custom := must(t.metadata.Resource(gvr).Namespace(ns).List(t.Context(), metav1.ListOptions{}))(t)
	want(t, "custom items", len(custom.Items), 1)
	want(t, "custom name", custom.Items[0].Name, "c")
	yes := true
	cw := must(t.metadata.Resource(gvr).Namespace(ns).Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
	}))(t)
	defer cw.Stop()
	expect(t, cw, watch.Added, "c")
	want(t, "bookmark", next(t, cw).Type, watch.Bookmark)
}

// raw asks for a path and returns the answer's code and body.
func (s *suite) raw(tb testing.TB, method, path, accept, contentType, body string) (int, []byte) {
	tb.Helper()
	client := must(rest.HTTPClientFor(s.config))(tb)
	defer client.CloseIdleConnections()
	base, _, err := rest.DefaultServerUrlFor(s.config)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), waitLimit)
	defer cancel()
	req := must(http.NewRequestWithContext(ctx, method, base.String()+path, strings.NewReader(body)))(tb)
	req.Header.Set("Accept", accept)
	req.Header.Set("Content-Type", contentType)
	resp, err := client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data := must(io.ReadAll(resp.Body))(tb)
	return resp.StatusCode, data
}

func testTable(t *serverTest) {
	ns := t.namespace(t)
	must(t.client.CoreV1().Pods(ns).Create(t.Context(), pod("a", "node-1"), metav1.CreateOptions{}))(t)
	code, data := t.raw(t, http.MethodGet, "/api/v1/namespaces/"+ns+"/pods", "application/json;as=Table;v=v1;g=meta.k8s.io", "", "")
	var table metav1.Table
	if err := json.Unmarshal(data, &table); err != nil || code != http.StatusOK {
		t.Fatalf("%d %v: %s", code, err, data)
	}
	want(t, "kind", table.Kind, "Table")
	want(t, "rows", len(table.Rows), 1)
	for i, expected := range []string{"Name", "Ready", "Status", "Restarts", "Age"} {
		want(t, "column", table.ColumnDefinitions[i].Name, expected)
	}
	want(t, "name", table.Rows[0].Cells[0], any("a"))
	want(t, "ready", table.Rows[0].Cells[1], any("0/1"))
}

func testDiscovery(t *serverTest) {
	disco := must(discovery.NewDiscoveryClientForConfig(t.config))(t)
	for _, legacy := range []bool{false, true} {
		disco.UseLegacyDiscovery = legacy
		_, lists, err := disco.ServerGroupsAndResources()
		if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, list := range lists {
			for _, r := range list.APIResources {
				found[list.GroupVersion+"/"+r.Name] = r.Namespaced
			}
		}
		for name, namespaced := range map[string]bool{
			"v1/pods": true, "v1/pods/status": true, "v1/nodes": false, "discovery.k8s.io/v1/endpointslices": true,
			"coordination.k8s.io/v1/leases": true, "networking.k8s.io/v1/ingresses": true,
			"apiextensions.k8s.io/v1/customresourcedefinitions": false,
		} {
			got, ok := found[name]
			if !ok || got != namespaced {
				t.Errorf("legacy %v: %s: found %v, namespaced %v", legacy, name, ok, got)
			}
		}
	}
	version := must(disco.ServerVersion())(t)
	want(t, "major version", version.Major, "1")
}

func testEvents(t *serverTest) {
	ns := t.namespace(t)
	must(t.client.CoreV1().Events(ns).Create(t.Context(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "a"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p", Namespace: ns},
		Reason:         "Testing", Message: "text", Type: corev1.EventTypeNormal,
	}, metav1.CreateOptions{}))(t)
	for _, client := range []kubernetes.Interface{t.client, t.proto} {
		e := must(client.EventsV1().Events(ns).Get(t.Context(), "a", metav1.GetOptions{}))(t)
		want(t, "note", e.Note, "text")
		want(t, "regarding", e.Regarding.Name, "p")
	}
	list := must(t.client.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=p,involvedObject.kind=Pod"}))(t)
	want(t, "selected", len(list.Items), 1)
	list = must(t.client.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=q"}))(t)
	want(t, "selected", len(list.Items), 0)
}

func testHTTPErrors(t *serverTest) {
	ns := t.namespace(t)
	t.configMap(t, ns, "a", nil)
	maps := "/api/v1/namespaces/" + ns + "/configmaps"
	things := "/apis/contract.test/v1/namespaces/" + ns + "/" + t.customResource(t).Resource
	const asJSON = "application/json"
	for _, c := range []struct {
		method, path, accept, contentType, body string
		code                                    int
		reason                                  metav1.StatusReason
	}{
		{http.MethodPut, maps, asJSON, asJSON, "{}", 405, metav1.StatusReasonMethodNotAllowed},
		{http.MethodPost, maps + "/a", asJSON, asJSON, "{}", 405, metav1.StatusReasonMethodNotAllowed},
		{http.MethodPost, "/api/v1/configmaps", asJSON, asJSON, "{}", 405, metav1.StatusReasonMethodNotAllowed},
		{http.MethodGet, maps, "text/xml", "", "", 406, metav1.StatusReasonNotAcceptable},
		{http.MethodGet, things, "application/vnd.kubernetes.protobuf", "", "", 406, metav1.StatusReasonNotAcceptable},
		{http.MethodPost, maps, asJSON, "text/xml", "<a/>", 415, metav1.StatusReasonUnsupportedMediaType},
		{http.MethodPost, maps, asJSON, asJSON, `{"metadata":`, 400, metav1.StatusReasonBadRequest},
		{http.MethodPost, maps, asJSON, asJSON, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"q"}}`, 400, metav1.StatusReasonBadRequest},
		{http.MethodPost, maps, asJSON, asJSON, `{"metadata":{"name":5}}`, 400, metav1.StatusReasonBadRequest},
		{http.MethodPost, maps + "?fieldValidation=Strict", asJSON, asJSON, `{"metadata":{"name":"q"},"foo":1}`, 400, metav1.StatusReasonBadRequest},
		{http.MethodGet, "/api/v1/nones", asJSON, "", "", 404, metav1.StatusReasonNotFound},
		{http.MethodGet, maps + "/a/status", asJSON, "", "", 404, metav1.StatusReasonNotFound},
		{http.MethodGet, maps + "?resourceVersion=100000000000", asJSON, "", "", 504, metav1.StatusReasonTimeout},
	} {
		code, data := t.raw(t, c.method, c.path, c.accept, c.contentType, c.body)
		// A Status may come in protobuf even where an object may not.
		obj, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), data)
		status, ok := obj.(*metav1.Status)
		if err != nil || !ok {
			t.Errorf("%s %s: not a Status: %s", c.method, c.path, data)
			continue
		}
		want(t, c.method+" "+c.path+" code", code, c.code)
		want(t, c.method+" "+c.path+" reason", status.Reason, c.reason)
	}
	for _, path := range []string{"/healthz", "/readyz", "/livez"} {
		code, data := t.raw(t, http.MethodGet, path, "*/*", "", "")
		want(t, path, string(data), "ok")
		want(t, path, code, http.StatusOK)
	}
}

func testReview(t *serverTest) {
	gvr := schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
	code, data := t.raw(t, http.MethodPost, "/apis/"+gvr.Group+"/v1/"+gvr.Resource, "application/json", "application/json",
		`{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`)
	want(t, "code", code, http.StatusCreated)
	if !strings.Contains(string(data), `"allowed": true`) && !strings.Contains(string(data), `"allowed":true`) {
		t.Errorf("not allowed: %s", data)
	}
}
