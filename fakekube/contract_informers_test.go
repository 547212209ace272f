package fakekube_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func informerTests() []test {
	return []test{
		{"InformerWithWatchList", func(t *serverTest) { testInformer(t, true, "application/json") }},
		{"InformerWithList", func(t *serverTest) { testInformer(t, false, "application/json") }},
		{"ProtobufInformerWithWatchList", func(t *serverTest) { testInformer(t, true, "application/vnd.kubernetes.protobuf") }},
		{"ProtobufInformerWithList", func(t *serverTest) { testInformer(t, false, "application/vnd.kubernetes.protobuf") }},
	}
}

// listOnly is a ListerWatcher that WatchList is not tried on.
type listOnly struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported tells the reflector to list.
func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }

// countWatchList counts the requests that ask for initial events.
type countWatchList struct {
	http.RoundTripper
	n *atomic.Int64
}

func (c countWatchList) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		c.n.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}

// testInformer follows a namespace with an informer while it changes.
func testInformer(t *serverTest, watchList bool, contentType string) {
	var asked atomic.Int64
	cfg := rest.CopyConfig(t.config)
	cfg.ContentType = contentType
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return countWatchList{rt, &asked} })
	client := must(kubernetes.NewForConfig(cfg))(t)
	ns := t.namespace(t)
	t.configMap(t, ns, "before", nil)

	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().ConfigMaps(ns).List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().ConfigMaps(ns).Watch(ctx, opts)
		},
	}
	var source cache.ListerWatcher = lw
	if !watchList {
		source = listOnly{lw}
	}
	informer := cache.NewSharedIndexInformer(source, &corev1.ConfigMap{}, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	defer running.Wait()
	defer cancel()
	eventually(t, "synced", informer.HasSynced)
	want(t, "WatchList was used", asked.Load() > 0, watchList)

	maps := client.CoreV1().ConfigMaps(ns)
	for i := range 20 {
		must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cm-%d", i)}}, metav1.CreateOptions{}))(t)
	}
	for i := range 10 {
		cm := must(maps.Get(t.Context(), fmt.Sprintf("cm-%d", i), metav1.GetOptions{}))(t)
		cm.Data = map[string]string{"k": "v"}
		must(maps.Update(t.Context(), cm, metav1.UpdateOptions{}))(t)
	}
	if err := maps.Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	list := must(maps.List(t.Context(), metav1.ListOptions{}))(t)
	want(t, "objects", len(list.Items), 20)
	eventually(t, "the informer has the server's state", func() bool {
		if len(informer.GetStore().ListKeys()) != len(list.Items) {
			return false
		}
		for _, item := range list.Items {
			obj, ok, err := informer.GetStore().GetByKey(ns + "/" + item.Name)
			if err != nil || !ok || must(meta.Accessor(obj))(t).GetResourceVersion() != item.ResourceVersion {
				return false
			}
		}
		return true
	})
}
