package controlplane_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/xdsbench/xdsbench/controlplane"
)

const (
	patience = 5 * time.Second        // for what must come
	silence  = 150 * time.Millisecond // for what must not come, past the debounce
)

// plane is a running control plane on a fake API server.
type plane struct {
	*controlplane.Addresses
	client *fake.Clientset
	config dynamic.Interface
}

// startPlane runs a control plane over objects until the test ends.
func startPlane(t *testing.T, env map[string]string, objects ...runtime.Object) *plane {
	t.Helper()
	return runPlane(t, env, &plane{client: fake.NewClientset(objects...)})
}

// runPlane runs a control plane with the clients of p until the test ends.
func runPlane(t *testing.T, env map[string]string, p *plane) *plane {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan controlplane.Addresses, 1)
	failed := make(chan error, 1)
	merged := map[string]string{"PILOT_DEBOUNCE_AFTER": "20ms"}
	maps.Copy(merged, env)
	go func() {
		failed <- controlplane.Run(ctx, controlplane.Config{
			Client:      p.client,
			Dynamic:     p.config,
			XDSAddress:  "127.0.0.1:0",
			HTTPAddress: "127.0.0.1:0",
			Env:         merged,
			Version:     "test",
			Log:         slog.New(slog.DiscardHandler),
			OnReady:     func(a controlplane.Addresses) { ready <- a },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-failed; err != nil {
			t.Errorf("control plane: %v", err)
		}
	})
	select {
	case addresses := <-ready:
		p.Addresses = &addresses
		return p
	case err := <-failed:
		failed <- nil
		t.Fatalf("control plane did not start: %v", err)
	case <-time.After(patience):
		t.Fatal("control plane is not ready")
	}
	return nil
}

func (p *plane) get(t *testing.T, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.HTTP+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return resp.StatusCode, string(body)
}

func (p *plane) metrics(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	_, body := p.get(t, "/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// metric sums the samples of a family whose labels include those given as
// "name=value": values of counters and gauges, counts of histograms.
func (p *plane) metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	var total float64
	for _, m := range p.metrics(t)[name].GetMetric() {
		have := make(map[string]bool)
		for _, pair := range m.GetLabel() {
			have[pair.GetName()+"="+pair.GetValue()] = true
		}
		matches := true
		for _, label := range labels {
			matches = matches && have[label]
		}
		if matches {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue() +
				float64(m.GetHistogram().GetSampleCount())
		}
	}
	return total
}

func (p *plane) syncz(t *testing.T) []map[string]any {
	t.Helper()
	_, body := p.get(t, "/debug/syncz")
	var list []map[string]any
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("syncz: %v in %s", err, body)
	}
	return list
}

// eventually repeats check until it holds.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !check() {
		if time.Now().After(deadline) {
			t.Fatalf("not in %s: %s", patience, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// sotwClient is one SotW ADS stream.
type sotwClient struct {
	stream   discovery.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	incoming chan *discovery.DiscoveryResponse
	node     *core.Node
	stop     context.CancelFunc
}

// deltaClient is one Delta ADS stream.
type deltaClient struct {
	stream   discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	incoming chan *discovery.DeltaDiscoveryResponse
	node     *core.Node
}

func nodeOf(address, pod, namespace string) *core.Node {
	return &core.Node{Id: fmt.Sprintf("sidecar~%s~%s.%s~%s.svc.cluster.local", address, pod, namespace, namespace)}
}

func dial(t *testing.T, address string) discovery.AggregatedDiscoveryServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return discovery.NewAggregatedDiscoveryServiceClient(conn)
}

// receive forwards what recv returns until it fails, when the stream's context
// ends at the latest.
func receive[T any](recv func() (T, error)) chan T {
	incoming := make(chan T, 100)
	go func() {
		defer close(incoming)
		for {
			message, err := recv()
			if err != nil {
				return
			}
			incoming <- message
		}
	}()
	return incoming
}

func (p *plane) sotw(t *testing.T, node *core.Node) *sotwClient {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	stream, err := dial(t, p.XDS).StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return &sotwClient{stream: stream, incoming: receive(stream.Recv), node: node, stop: cancel}
}

func (p *plane) delta(t *testing.T, node *core.Node) *deltaClient {
	t.Helper()
	stream, err := dial(t, p.XDS).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &deltaClient{stream: stream, incoming: receive(stream.Recv), node: node}
}

func (c *sotwClient) send(t *testing.T, req *discovery.DiscoveryRequest) {
	t.Helper()
	req.Node = c.node
	if err := c.stream.Send(req); err != nil {
		t.Fatal(err)
	}
}

func (c *sotwClient) ask(t *testing.T, typeURL string, names ...string) {
	t.Helper()
	c.send(t, &discovery.DiscoveryRequest{TypeUrl: typeURL, ResourceNames: names})
}

func (c *sotwClient) ack(t *testing.T, r *discovery.DiscoveryResponse, names ...string) {
	t.Helper()
	c.send(t, &discovery.DiscoveryRequest{
		TypeUrl: r.GetTypeUrl(), ResourceNames: names, ResponseNonce: r.GetNonce(), VersionInfo: r.GetVersionInfo(),
	})
}

// want returns the next response, which must be of the type.
func (c *sotwClient) want(t *testing.T, typeURL string) *discovery.DiscoveryResponse {
	t.Helper()
	return next(t, c.incoming, typeURL)
}

func (c *deltaClient) send(t *testing.T, req *discovery.DeltaDiscoveryRequest) {
	t.Helper()
	req.Node = c.node
	if err := c.stream.Send(req); err != nil {
		t.Fatal(err)
	}
}

func (c *deltaClient) ask(t *testing.T, typeURL string, names ...string) {
	t.Helper()
	c.send(t, &discovery.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesSubscribe: names})
}

func (c *deltaClient) ack(t *testing.T, r *discovery.DeltaDiscoveryResponse) {
	t.Helper()
	c.send(t, &discovery.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()})
}

func (c *deltaClient) want(t *testing.T, typeURL string) *discovery.DeltaDiscoveryResponse {
	t.Helper()
	return next(t, c.incoming, typeURL)
}

func next[T interface{ GetTypeUrl() string }](t *testing.T, incoming chan T, typeURL string) T {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r, ok := <-incoming:
		if !ok {
			t.Fatal("the stream has ended")
		}
		if r.GetTypeUrl() != typeURL {
			t.Fatalf("got a response of type %s, want %s", r.GetTypeUrl(), typeURL)
		}
		return r
	case <-timer.C:
		t.Fatalf("no response of type %s", typeURL)
	}
	panic("not reached")
}

// wantSilence fails if a response comes.
func wantSilence[T interface{ GetTypeUrl() string }](t *testing.T, incoming chan T) {
	t.Helper()
	timer := time.NewTimer(silence)
	defer timer.Stop()
	select {
	case r, ok := <-incoming:
		if !ok {
			t.Fatal("the stream has ended")
		}
		t.Fatalf("unexpected response: %v", r)
	case <-timer.C:
	}
}

func makeService(namespace, name, clusterIP string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: clusterIP, Ports: ports},
	}
}

func httpPort() corev1.ServicePort {
	return corev1.ServicePort{Name: "http-80", Port: 80, TargetPort: intstr.FromInt32(8080)}
}

func tcpPort(number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: "tcp", Port: number, TargetPort: intstr.FromInt32(number)}
}

func makeSlice(namespace, service, name string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	portName, number := "http-80", int32(8080)
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Port: &number}},
		Endpoints:   endpoints,
	}
}

func ready(address string) discoveryv1.Endpoint {
	yes, no := true, false
	return discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
	}
}

func unready(address string) discoveryv1.Endpoint {
	no := false
	return discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: &no, Serving: &no, Terminating: &no},
	}
}

func terminating(address string) discoveryv1.Endpoint {
	yes, no := true, false
	return discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes},
	}
}

func (p *plane) updateSlice(t *testing.T, s *discoveryv1.EndpointSlice) {
	t.Helper()
	if _, err := p.client.DiscoveryV1().EndpointSlices(s.Namespace).Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (p *plane) createSlice(t *testing.T, s *discoveryv1.EndpointSlice) {
	t.Helper()
	if _, err := p.client.DiscoveryV1().EndpointSlices(s.Namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (p *plane) createService(t *testing.T, s *corev1.Service) {
	t.Helper()
	if _, err := p.client.CoreV1().Services(s.Namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (p *plane) deleteService(t *testing.T, namespace, name string) {
	t.Helper()
	if err := p.client.CoreV1().Services(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Short names for the types.
const (
	cds = resource.ClusterType
	eds = resource.EndpointType
	lds = resource.ListenerType
	rds = resource.RouteType
)
