package churn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	discovery "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"github.com/xdsbench/xdsbench/mesh"
)

// seeded returns an in-memory API server that holds the mesh.
func seeded(t *testing.T, m *mesh.Mesh) *fake.Clientset {
	t.Helper()
	var objects []runtime.Object
	for o := range m.Objects() {
		objects = append(objects, o)
	}
	return fake.NewSimpleClientset(objects...)
}

// hookedClient calls a hook before each write of a slice; an error of the hook
// is the answer. Unlike a reactor the hook may block: the clientset holds a lock
// around its reactors.
type hookedClient struct {
	kubernetes.Interface

	before func(context.Context, *discoveryv1.EndpointSlice) error
}

func (c hookedClient) DiscoveryV1() discovery.DiscoveryV1Interface {
	return hookedDiscovery{c.Interface.DiscoveryV1(), c.before}
}

type hookedDiscovery struct {
	discovery.DiscoveryV1Interface

	before func(context.Context, *discoveryv1.EndpointSlice) error
}

func (d hookedDiscovery) EndpointSlices(namespace string) discovery.EndpointSliceInterface {
	return hookedSlices{d.DiscoveryV1Interface.EndpointSlices(namespace), d.before}
}

type hookedSlices struct {
	discovery.EndpointSliceInterface

	before func(context.Context, *discoveryv1.EndpointSlice) error
}

func (s hookedSlices) Update(ctx context.Context, o *discoveryv1.EndpointSlice, opts metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	if err := s.before(ctx, o); err != nil {
		return nil, err
	}
	return s.EndpointSliceInterface.Update(ctx, o, opts)
}

func (s hookedSlices) Create(ctx context.Context, o *discoveryv1.EndpointSlice, opts metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	if err := s.before(ctx, o); err != nil {
		return nil, err
	}
	return s.EndpointSliceInterface.Create(ctx, o, opts)
}

var errInjected = errors.New("injected")

// slow makes every write of a slice take d.
func slow(client kubernetes.Interface, d time.Duration) kubernetes.Interface {
	return hookedClient{client, func(context.Context, *discoveryv1.EndpointSlice) error {
		time.Sleep(d)
		return nil
	}}
}

// versioned gives the answers of writes a resourceVersion, as an API server
// does and the fake clientset does not.
type versioned struct{ kubernetes.Interface }

func (c versioned) DiscoveryV1() discovery.DiscoveryV1Interface {
	return versionedDiscovery{c.Interface.DiscoveryV1()}
}

type versionedDiscovery struct{ discovery.DiscoveryV1Interface }

func (d versionedDiscovery) EndpointSlices(namespace string) discovery.EndpointSliceInterface {
	return versionedSlices{d.DiscoveryV1Interface.EndpointSlices(namespace)}
}

type versionedSlices struct {
	discovery.EndpointSliceInterface
}

func (s versionedSlices) Update(ctx context.Context, o *discoveryv1.EndpointSlice, opts metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	written, err := s.EndpointSliceInterface.Update(ctx, o, opts)
	if err == nil {
		written.ResourceVersion = "1" + o.ResourceVersion
	}
	return written, err
}

// hung never answers a write of a slice or pod.
type hung struct{ kubernetes.Interface }

func (c hung) DiscoveryV1() discovery.DiscoveryV1Interface {
	return hookedClient{c.Interface, func(ctx context.Context, _ *discoveryv1.EndpointSlice) error {
		<-ctx.Done()
		return ctx.Err()
	}}.DiscoveryV1()
}

func (c hung) CoreV1() core.CoreV1Interface { return hungCore{c.Interface.CoreV1()} }

type hungCore struct{ core.CoreV1Interface }

func (c hungCore) Pods(namespace string) core.PodInterface {
	return hungPods{c.CoreV1Interface.Pods(namespace)}
}

type hungPods struct{ core.PodInterface }

func (hungPods) Create(ctx context.Context, _ *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hungPods) Delete(ctx context.Context, _ string, _ metav1.DeleteOptions) error {
	<-ctx.Done()
	return ctx.Err()
}
