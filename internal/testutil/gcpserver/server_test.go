package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startServer serves the objects until the end of the test, and returns the
// client to change them with.
func startServer(t *testing.T, kind string, objects ...runtime.Object) (*fake.Clientset, serverConfig) {
	t.Helper()
	client := fake.NewClientset(objects...)
	cfg := serverConfig{Client: client, Cache: kind, Log: slog.New(slog.DiscardHandler)}
	for _, l := range []*net.Listener{&cfg.XDS, &cfg.Metrics} {
		var err error
		if *l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- serve(ctx, cfg) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return client, cfg
}

func service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

// slice returns the endpoints of a service: one ready, one of unknown readiness,
// one not ready, one terminating, and one for each further address.
func slice(service string, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: service + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}},
			{Addresses: []string{"10.0.0.2"}},
			{Addresses: []string{"10.0.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}},
			{Addresses: []string{"10.0.0.4"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true), Terminating: new(true)}},
		},
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

// way is a cache and a variant to test it in.
type way struct {
	cache string
	open  func(t *testing.T, address string) adsClient
}

// ways returns both caches in both variants, by name.
func ways() map[string]way {
	return map[string]way{
		"linear sotw":    {"linear", openSotW},
		"linear delta":   {"linear", openDelta},
		"snapshot sotw":  {"snapshot", openSotW},
		"snapshot delta": {"snapshot", openDelta},
	}
}

func TestProxyGetsAllFourTypesOfAnEmptyMesh(t *testing.T) {
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			_, cfg := startServer(t, way.cache)
			proxy := way.open(t, cfg.XDS.Addr().String())
			for typeURL, names := range map[string][]string{
				resource.ClusterType: nil, resource.ListenerType: nil, resource.RouteType: {outbound},
			} {
				proxy.subscribe(t, typeURL, names...)
				got := proxy.receive(t)
				if got.typeURL != typeURL || (typeURL == resource.ClusterType) != (len(got.resources) == 0) {
					t.Errorf("asked for %s, got %+v", typeURL, got)
				}
			}
		})
	}
}

func TestProxyGetsUsableEndpointsAndTheirChanges(t *testing.T) {
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			client, cfg := startServer(t, way.cache, service("cart"), slice("cart"))
			proxy := way.open(t, cfg.XDS.Addr().String())
			proxy.subscribe(t, resource.ClusterType)
			if got := proxy.receive(t).names(); !slices.Equal(got, []string{"shop/cart/80"}) {
				t.Fatalf("clusters %q", got)
			}
			proxy.subscribe(t, resource.EndpointType, "shop/cart/80")
			if got := proxy.receive(t).addresses(t); !slices.Equal(got, []string{"10.0.0.1:8080", "10.0.0.2:8080"}) {
				t.Fatalf("endpoints %q", got)
			}

			// client-go's fake loses what happens before its watches stand: the
			// change is repeated until it is seen.
			change := slice("cart", "10.0.0.5")
			change.Endpoints[0].Conditions = discoveryv1.EndpointConditions{
				Ready: new(false), Serving: new(true), Terminating: new(true),
			}
			got := proxy.receiveWhile(t, func() {
				_, err := client.DiscoveryV1().EndpointSlices("shop").Update(t.Context(), change, metav1.UpdateOptions{})
				if err != nil {
					t.Error(err)
				}
			}).addresses(t)
			if !slices.Equal(got, []string{"10.0.0.2:8080", "10.0.0.5:8080"}) {
				t.Errorf("endpoints after the change %q", got)
			}
		})
	}
}

func TestProxyIsToldOfServicesThatComeAndGo(t *testing.T) {
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			client, cfg := startServer(t, way.cache, service("cart"), slice("cart"))
			proxy := way.open(t, cfg.XDS.Addr().String())
			proxy.subscribe(t, resource.ClusterType)
			proxy.receive(t)
			services := client.CoreV1().Services("shop")
			first := true
			got := proxy.receiveWhile(t, func() {
				if !first {
					_ = services.Delete(t.Context(), "wallet", metav1.DeleteOptions{})
				}
				first = false
				if _, err := services.Create(t.Context(), service("wallet"), metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			})
			if !slices.Contains(got.names(), "shop/wallet/80") {
				t.Fatalf("clusters after an addition: %+v", got)
			}
			if err := services.Delete(t.Context(), "cart", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			for slices.Contains(proxy.known(resource.ClusterType), "shop/cart/80") {
				proxy.receive(t)
			}
		})
	}
}

func TestHeadlessServicesHaveNoClusters(t *testing.T) {
	headless := service("db")
	headless.Spec.ClusterIP = corev1.ClusterIPNone
	if got := clustersOf(headless, nil); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestAnEndpointInTwoSlicesIsSentOnce(t *testing.T) {
	got := loadAssignment("x", "http", []*discoveryv1.EndpointSlice{slice("cart"), slice("cart")})
	if n := len(endpoints(got)); n != 2 {
		t.Errorf("%d endpoints, want 2: %v", n, got)
	}
}

func TestMetricsAreServed(t *testing.T) {
	_, cfg := startServer(t, "linear")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.Get("http://" + cfg.Metrics.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %s", resp.Status)
	}
}

func endpoints(assignment *endpointpb.ClusterLoadAssignment) []*endpointpb.LbEndpoint {
	var all []*endpointpb.LbEndpoint
	for _, l := range assignment.GetEndpoints() {
		all = append(all, l.GetLbEndpoints()...)
	}
	return all
}
