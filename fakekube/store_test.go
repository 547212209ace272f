package fakekube_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/xdsbench/xdsbench/fakekube"
)

// slice is an EndpointSlice of a service with ready endpoints.
func slice(service string, addresses ...string) *discoveryv1.EndpointSlice {
	name, port, ready := "http", int32(8080), true
	es := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
	for _, a := range addresses {
		es.Endpoints = append(es.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{a}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		})
	}
	return es
}

// waitFor waits until a condition holds.
func waitFor(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not so within 30 s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func httpClient(tb testing.TB, server *fakekube.Server) kubernetes.Interface {
	tb.Helper()
	client, err := kubernetes.NewForConfig(server.RESTConfig())
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

func TestStalledWatcherIsToldItsVersionIsGone(t *testing.T) {
	t.Parallel()
	store, server := start(t, fakekube.Options{HistoryEvents: 100})
	client := store.Clientset()
	maps := client.CoreV1().ConfigMaps("default")
	cm, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]kubernetes.Interface{"in process": client, "HTTP": httpClient(t, server)} {
		w, err := c.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: cm.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		big := make([]byte, 50_000) // So that the network's buffers fill up, too.
		for i := range big {
			big[i] = byte('a' + i%26)
		}
		for i := range 500 {
			cm.Data = map[string]string{"i": fmt.Sprint(i), "big": string(big)}
			if cm, err = maps.Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		seen, gone := 0, false
		for e := range w.ResultChan() {
			if e.Type == watch.Error {
				gone = apierrors.IsResourceExpired(apierrors.FromObject(e.Object))
				continue
			}
			seen++
		}
		if !gone || seen >= 500 {
			t.Errorf("%s: %d events, told that it fell behind: %v", name, seen, gone)
		}
	}
}

func TestCloseEndsWatchesOfClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	store := fakekube.NewStore(fakekube.Options{})
	server := fakekube.NewServer(store, fakekube.ServerOptions{})
	if err := server.Start(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.Addr()+"/api/v1/configmaps?watch=1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	maps := store.Clientset().CoreV1().ConfigMaps("default")
	for i := range 300 {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}, BinaryData: map[string][]byte{"big": make([]byte, 100_000)}}
		if _, err := maps.Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	store.Close()
}

func TestPeriodicBookmarks(t *testing.T) {
	t.Parallel()
	store, server := start(t, fakekube.Options{BookmarkInterval: 20 * time.Millisecond})
	for name, c := range map[string]kubernetes.Interface{"in process": store.Clientset(), "HTTP": httpClient(t, server)} {
		w, err := c.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{AllowWatchBookmarks: true, ResourceVersion: "0"})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if e := <-w.ResultChan(); e.Type != watch.Bookmark {
				t.Errorf("%s: got %s", name, e.Type)
			}
		}
		w.Stop()
	}
}

func TestDeletingANamespaceDeletesItsContents(t *testing.T) {
	t.Parallel()
	store, _ := start(t, fakekube.Options{})
	client := store.Clientset()
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := client.CoreV1().Pods("x").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Finalizers: []string{"a.b/c"}}, Spec: corev1.PodSpec{NodeName: "n"}}
	if _, err := client.CoreV1().Pods("x").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "x", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
		if e := <-w.ResultChan(); e.Type != want {
			t.Errorf("got %s, want %s", e.Type, want)
		}
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "x", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace is still there: %v", err)
	}
}

func TestServiceAddressesAreUniqueAndReused(t *testing.T) {
	t.Parallel()
	store, _ := start(t, fakekube.Options{})
	services := store.Clientset().CoreV1().Services("default")
	create := func(name, ip string) (*corev1.Service, error) {
		return services.Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
	}
	a, err := create("a", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := create("b", a.Spec.ClusterIP); !apierrors.IsInvalid(err) {
		t.Errorf("a taken address was given again: %v", err)
	}
	if err := services.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := create("b", a.Spec.ClusterIP); err != nil {
		t.Errorf("the address of a deleted service: %v", err)
	}
}

func TestInformersFollowTheClientset(t *testing.T) {
	t.Parallel()
	store, _ := start(t, fakekube.Options{})
	client := store.Clientset()
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.DiscoveryV1().EndpointSlices("").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.DiscoveryV1().EndpointSlices("").Watch(ctx, o)
		},
	}, &discoveryv1.EndpointSlice{}, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	defer running.Wait()
	defer cancel()
	waitFor(t, "synced", informer.HasSynced)
	for i := range 200 { // More than the 100 events at which client-go's own fake gives up.
		if _, err := client.DiscoveryV1().EndpointSlices("default").Create(t.Context(), slice(fmt.Sprint("s", i), "10.0.0.1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "200 objects", func() bool { return len(informer.GetStore().ListKeys()) == 200 })
	if n := len(client.Actions()); n > 64 {
		t.Errorf("the clientset remembers %d actions", n)
	}
}
