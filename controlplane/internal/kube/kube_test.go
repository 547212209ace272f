package kube_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/xdsbench/xdsbench/controlplane/internal/kube"
)

func slice(ready *bool, addresses ...string) *kube.EndpointSlice {
	return kube.NewEndpointSlice(&discoveryv1.EndpointSlice{
		Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}, {Name: new("all")}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: addresses, NodeName: new("n1"), Zone: new("z2"), Conditions: discoveryv1.EndpointConditions{Ready: ready, Terminating: new(false)},
		}},
	}, true)
}

func TestEndpointInSeveralSlicesAppearsOnceAndIsHealthyIfOneCopyIs(t *testing.T) {
	t.Parallel()
	parts := []*kube.EndpointSlice{slice(new(false), "10.0.0.2", "10.0.0.1"), slice(nil, "10.0.0.2")}
	nodes := map[string]kube.Locality{"n1": {Region: "r1"}}
	where := kube.Locality{Region: "r1", Zone: "z2"}
	want := []kube.Endpoint{
		{Locality: where, Address: "10.0.0.1", Port: 8080},
		{Locality: where, Address: "10.0.0.2", Port: 8080, Healthy: true},
	}
	for range 2 {
		if got := kube.EndpointsOf(kube.Port{Name: "http"}, parts, nodes); !slices.Equal(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		slices.Reverse(parts)
	}
	if got := kube.EndpointsOf(kube.Port{Name: "other"}, parts, nodes); len(got) != 0 {
		t.Errorf("a port that no slice has: %+v", got)
	}
}

func TestProtocolIsSelectedByAppProtocolOrPortName(t *testing.T) {
	t.Parallel()
	s := kube.NewService(&corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "http-web"},
		{Name: "grpc"},
		{Name: "tcp-http"},
		{Name: "httpx"},
		{Name: "tcp", AppProtocol: new("kubernetes.io/h2c")},
		{Name: "http", AppProtocol: new("redis")},
		{Name: "dns", Protocol: corev1.ProtocolUDP},
	}}})
	var got []kube.Protocol
	for _, port := range s.Ports {
		got = append(got, port.Protocol)
	}
	if want := []kube.Protocol{kube.HTTP, kube.HTTP2, kube.TCP, kube.TCP, kube.HTTP2, kube.TCP}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func pod(labels map[string]string, ports ...corev1.ContainerPort) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: ports}}},
		Status:     corev1.PodStatus{PodIP: "10.0.0.1"},
	}
}

func TestWorkloadsHaveOneKeyIfAndOnlyIfTheirContentIsEqual(t *testing.T) {
	t.Parallel()
	key := func(p *corev1.Pod) string {
		w, _ := kube.NewWorkload(p)
		return w.Key
	}
	web := corev1.ContainerPort{Name: "web", ContainerPort: 80}
	base := key(pod(map[string]string{"a": "1", "b": "2"}, web))
	if again := key(pod(map[string]string{"b": "2", "a": "1"}, web)); again != base {
		t.Errorf("equal contents have the keys %s and %s", base, again)
	}
	for _, other := range []*corev1.Pod{
		pod(map[string]string{"a": "1"}, web),
		pod(map[string]string{"a": `1" "b":"2`}, web),
		pod(map[string]string{"a": "1", "b": "2"}),
		pod(map[string]string{"a": "1", "b": "2"}, corev1.ContainerPort{Name: "web", ContainerPort: 81}),
	} {
		if key(other) == base {
			t.Errorf("%+v has the same key", other)
		}
	}
}

func TestNamedTargetPortIsResolvedByThePod(t *testing.T) {
	t.Parallel()
	w, address := kube.NewWorkload(pod(nil, corev1.ContainerPort{Name: "web", ContainerPort: 8080}))
	if address != "10.0.0.1" {
		t.Errorf("address %q", address)
	}
	s := kube.NewService(&corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Port: 80, TargetPort: intstr.FromString("web")},
		{Port: 81, TargetPort: intstr.FromString("none")},
		{Port: 82, TargetPort: intstr.FromInt32(9000)},
		{Port: 83},
	}}})
	for i, want := range []uint32{8080, 0, 9000, 83} {
		if got := w.Port(s.Ports[i]); got != want {
			t.Errorf("port %d leads to %d, want %d", s.Ports[i].Number, got, want)
		}
	}
	for name, ended := range map[string]func(*corev1.Pod){
		"no address":   func(p *corev1.Pod) { p.Status.PodIP = "" },
		"host network": func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		"failed":       func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
	} {
		p := pod(nil)
		ended(p)
		if w, _ := kube.NewWorkload(p); w != nil {
			t.Errorf("%s: got %+v", name, w)
		}
	}
}
