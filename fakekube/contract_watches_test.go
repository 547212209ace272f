package fakekube_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

func watchTests() []test {
	return []test{
		{"WatchFromVersion", testWatchFrom},
		{"WatchFromNothingBeginsWithObjects", testWatchZero},
		{"WatchSelectors", testWatchSelectors},
		{"WatchList", testWatchList},
		{"Bookmarks", testBookmarks},
		{"ExpiredVersion", testExpired},
		{"WatchTimeout", testWatchTimeout},
		{"BadWatches", testBadWatches},
	}
}

// expect checks the next event's type and object.
func expect(tb testing.TB, w watch.Interface, kind watch.EventType, name string) metav1.Object {
	tb.Helper()
	e := next(tb, w)
	m, err := meta.Accessor(e.Object)
	if err != nil {
		tb.Fatalf("%s: %v: %+v", e.Type, err, e.Object)
	}
	if e.Type != kind || m.GetName() != name {
		tb.Fatalf("got %s %q, want %s %q", e.Type, m.GetName(), kind, name)
	}
	return m
}

func testWatchFrom(t *serverTest) {
	ns := t.namespace(t)
	for _, client := range []kubernetes.Interface{t.client, t.proto} {
		maps := client.CoreV1().ConfigMaps(ns)
		a := t.configMap(t, ns, "a", nil)
		t.configMap(t, ns, "b", nil)
		w := must(maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: a.ResourceVersion}))(t)
		expect(t, w, watch.Added, "b")
		a.Data["key"] = "new"
		a = must(maps.Update(t.Context(), a, metav1.UpdateOptions{}))(t)
		got := expect(t, w, watch.Modified, "a")
		want(t, "version", got.GetResourceVersion(), a.ResourceVersion)
		for _, name := range []string{"a", "b"} {
			if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		gone := expect(t, w, watch.Deleted, "a")
		if gone.GetResourceVersion() == a.ResourceVersion {
			t.Error("a deletion has no version of its own")
		}
		expect(t, w, watch.Deleted, "b")
		w.Stop()
		// The same again, after the fact.
		w = must(maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: a.ResourceVersion}))(t)
		expect(t, w, watch.Deleted, "a")
		expect(t, w, watch.Deleted, "b")
		w.Stop()
	}
}

func testWatchZero(t *serverTest) {
	ns := t.namespace(t)
	t.configMap(t, ns, "a", nil)
	for _, version := range []string{"", "0"} {
		eventually(t, "the watch cache has the object", func() bool {
			list, err := t.client.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
			return err == nil && len(list.Items) == 1
		})
		w := must(t.client.CoreV1().ConfigMaps(ns).Watch(t.Context(), metav1.ListOptions{ResourceVersion: version}))(t)
		expect(t, w, watch.Added, "a")
		w.Stop()
	}
}

func testWatchSelectors(t *serverTest) {
	ns := t.namespace(t)
	a := t.configMap(t, ns, "a", map[string]string{"in": "no"})
	maps := t.client.CoreV1().ConfigMaps(ns)
	w := must(maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: a.ResourceVersion, LabelSelector: "in=yes"}))(t)
	defer w.Stop()
	byName := must(maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: a.ResourceVersion, FieldSelector: "metadata.name=b"}))(t)
	defer byName.Stop()
	setLabel := func(value string) {
		t.Helper()
		a.Labels["in"] = value
		a = must(maps.Update(t.Context(), a, metav1.UpdateOptions{}))(t)
	}
	setLabel("yes")
	expect(t, w, watch.Added, "a")
	setLabel("no")
	left := expect(t, w, watch.Deleted, "a")
	want(t, "version of the event", left.GetResourceVersion(), a.ResourceVersion)
	want(t, "label shown", left.GetLabels()["in"], "yes")
	setLabel("never")
	t.configMap(t, ns, "b", map[string]string{"in": "yes"})
	expect(t, w, watch.Added, "b")
	expect(t, byName, watch.Added, "b")
}

func testWatchList(t *serverTest) {
	ns := t.namespace(t)
	t.configMap(t, ns, "a", nil)
	b := t.configMap(t, ns, "b", nil)
	yes := true
	for _, client := range []kubernetes.Interface{t.client, t.proto} {
		w := must(client.CoreV1().ConfigMaps(ns).Watch(t.Context(), metav1.ListOptions{
			SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
			AllowWatchBookmarks: true, ResourceVersion: b.ResourceVersion,
		}))(t)
		seen := map[string]bool{}
		for range 2 {
			e := next(t, w)
			want(t, "type", e.Type, watch.Added)
			m := must(meta.Accessor(e.Object))(t)
			seen[m.GetName()] = true
		}
		want(t, "objects", len(seen), 2)
		end := next(t, w)
		want(t, "type", end.Type, watch.Bookmark)
		m := must(meta.Accessor(end.Object))(t)
		want(t, "annotation", m.GetAnnotations()[metav1.InitialEventsAnnotationKey], "true")
		if _, ok := end.Object.(*corev1.ConfigMap); !ok || m.GetResourceVersion() == "" {
			t.Errorf("bookmark %T at version %q", end.Object, m.GetResourceVersion())
		}
		w.Stop()
	}
}

func testBookmarks(t *serverTest) {
	ns := t.namespace(t)
	a := t.configMap(t, ns, "a", nil)
	last := must(t.client.CoreV1().Namespaces().Get(t.Context(), t.namespace(t), metav1.GetOptions{}))(t)
	timeout := int64(5) // A bookmark comes before the end of a watch.
	w := must(t.client.CoreV1().ConfigMaps(ns).Watch(t.Context(), metav1.ListOptions{
		ResourceVersion: a.ResourceVersion, AllowWatchBookmarks: true, TimeoutSeconds: &timeout,
	}))(t)
	defer w.Stop()
	e := next(t, w)
	want(t, "type", e.Type, watch.Bookmark)
	m := must(meta.Accessor(e.Object))(t)
	want(t, "name", m.GetName(), "")
	if m.GetResourceVersion() == "" || last.ResourceVersion == "" {
		t.Error("the bookmark has no version")
	}
}

func testExpired(t *serverTest) {
	// A resource whose history begins now has none of an old version.
	gvr := t.customResource(t)
	objects := t.dynamic.Resource(gvr).Namespace(t.namespace(t))
	w := must(objects.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "2"}))(t)
	defer w.Stop()
	e := next(t, w)
	want(t, "type", e.Type, watch.Error)
	err := apierrors.FromObject(e.Object)
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("unexpected error %v", err)
	}
	if status, ok := err.(apierrors.APIStatus); !ok || status.Status().Code != 410 {
		t.Errorf("unexpected status of %v", err)
	}
}

func testWatchTimeout(t *serverTest) {
	ns := t.namespace(t)
	a := t.configMap(t, ns, "a", nil)
	timeout := int64(1)
	w := must(t.client.CoreV1().ConfigMaps(ns).Watch(t.Context(), metav1.ListOptions{
		ResourceVersion: a.ResourceVersion, TimeoutSeconds: &timeout,
	}))(t)
	if e, ok := <-w.ResultChan(); ok {
		t.Errorf("unexpected event %+v", e)
	}
}

func testBadWatches(t *serverTest) {
	yes := true
	maps := t.client.CoreV1().ConfigMaps("default")
	_, err := maps.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: &yes})
	wantError(t, "sendInitialEvents without match", err, apierrors.IsInvalid)
	_, err = maps.Watch(t.Context(), metav1.ListOptions{FieldSelector: "foo=1"})
	wantError(t, "unknown field", err, apierrors.IsBadRequest)
	_, err = maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "abc"})
	if err == nil { // Kubernetes says 500 here, and 400 for a list.
		t.Error("a watch from version abc began")
	}
	_, err = t.dynamic.Resource(schema.GroupVersionResource{Group: "contract.test", Version: "v1", Resource: "nones"}).
		Watch(t.Context(), metav1.ListOptions{})
	wantError(t, "unknown resource", err, apierrors.IsNotFound)
}
