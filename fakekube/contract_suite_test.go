package fakekube_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// waitLimit is how long a test waits for what must happen.
const waitLimit = 20 * time.Second

// suite is what the tests share: clients of one server.
type suite struct {
	config   *rest.Config
	client   kubernetes.Interface // JSON
	proto    kubernetes.Interface // protobuf
	dynamic  dynamic.Interface
	metadata metadata.Interface
}

// runContract tests the behaviour of an API server that the parts of xdsbench rely on:
// the same against fakekube and against a real kube-apiserver, which is what keeps
// the two alike. The server that cfg leads to needs no controllers, must allow its
// client everything, and may hold other objects. Namespaces are left behind. The
// tests are subtests of t, in parallel.
func runContract(t *testing.T, cfg *rest.Config) {
	t.Helper()
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	s := &suite{config: cfg}
	asJSON, asProto := rest.CopyConfig(cfg), rest.CopyConfig(cfg)
	asJSON.ContentType = "application/json"
	asProto.ContentType = "application/vnd.kubernetes.protobuf"
	asProto.AcceptContentTypes = "application/vnd.kubernetes.protobuf"
	s.client = must(kubernetes.NewForConfig(asJSON))(t)
	s.proto = must(kubernetes.NewForConfig(asProto))(t)
	s.dynamic = must(dynamic.NewForConfig(cfg))(t)
	s.metadata = must(metadata.NewForConfig(cfg))(t)
	t.Cleanup(func() {
		// client-go shares connections of one configuration, and keeps them.
		for _, c := range []*rest.Config{cfg, asJSON, asProto} {
			if rt, err := rest.TransportFor(c); err == nil {
				utilnet.CloseIdleConnectionsFor(rt)
			}
		}
	})
	for _, group := range []func() []test{objectTests, statusTests, patchTests, watchTests, informerTests, customTests, encodingTests} {
		for _, tt := range group() {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				tt.run(&serverTest{T: t, suite: s})
			})
		}
	}
}

// test is one behaviour.
type test struct {
	name string
	run  func(*serverTest)
}

// serverTest is one test on the server.
type serverTest struct {
	*testing.T
	*suite
}

// must returns a value or ends the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// wantError checks an error's kind.
func wantError(tb testing.TB, what string, err error, is func(error) bool) {
	tb.Helper()
	if !is(err) {
		tb.Errorf("%s: unexpected error %v", what, err)
	}
}

// want compares.
func want[T comparable](tb testing.TB, what string, got, expected T) {
	tb.Helper()
	if got != expected {
		tb.Errorf("%s: got %v, want %v", what, got, expected)
	}
}

// namespace makes a fresh namespace.
func (s *suite) namespace(tb testing.TB) string {
	tb.Helper()
	ns := must(s.client.CoreV1().Namespaces().Create(tb.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "contract-"},
	}, metav1.CreateOptions{}))(tb)
	return ns.Name
}

// configMap makes a ConfigMap.
func (s *suite) configMap(tb testing.TB, ns, name string, labels map[string]string) *corev1.ConfigMap {
	tb.Helper()
	return must(s.client.CoreV1().ConfigMaps(ns).Create(tb.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: map[string]string{"key": "value"},
	}, metav1.CreateOptions{}))(tb)
}

// pod is a Pod to create.
func pod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "image:1"}}},
	}
}

// next waits for the next event of a watch.
func next(tb testing.TB, w watch.Interface) watch.Event {
	tb.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			tb.Fatal("the watch ended")
		}
		return e
	case <-time.After(waitLimit):
		tb.Fatal("no event came")
	}
	return watch.Event{}
}

// eventually waits until a condition holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), waitLimit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			tb.Fatalf("%s: not so within %v", what, waitLimit)
		case <-tick.C:
		}
	}
}
