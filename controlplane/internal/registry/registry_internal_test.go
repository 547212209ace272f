package registry

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/xdsbench/xdsbench/controlplane/internal/metrics"
)

// recorder keeps what a listener learns.
type recorder struct {
	updates   []*Update
	addresses []string
}

func (r *recorder) Updated(u *Update)              { r.updates = append(r.updates, u) }
func (r *recorder) WorkloadChanged(address string) { r.addresses = append(r.addresses, address) }

// take returns the updates since the last call.
func (r *recorder) take() []*Update {
	updates := r.updates
	r.updates = nil
	return updates
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func sliceOf(service string, addresses ...string) *discoveryv1.EndpointSlice {
	node := "n1"
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "s1", Labels: map[string]string{discoveryv1.LabelServiceName: service},
	}}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}, NodeName: &node})
	}
	return s
}

// filled returns a registry with services a and b, the former with a slice.
func filled() (*Registry, *recorder) {
	r, l := New(true, metrics.New()), &recorder{}
	for _, name := range []string{"a", "b"} {
		r.onService(nil, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}})
	}
	r.onSlice(nil, sliceOf("a", "10.0.0.1"))
	r.Listen(l)
	return r, l
}

func TestSliceThatMovesToAnotherServiceLeavesTheFirst(t *testing.T) {
	t.Parallel()
	r, l := filled()
	r.onSlice(sliceOf("a", "10.0.0.1"), sliceOf("b", "10.0.0.1"))
	updates := l.take()
	if len(updates) != 2 || !updates[0].Endpoints.Has(named("a")) || !updates[1].Endpoints.Has(named("b")) {
		t.Fatalf("updates %+v", updates)
	}
	if updates[0].Full || !updates[1].Full {
		t.Error("only the first endpoints of a service need a full push")
	}
	v := r.View(updates[0].Merge(updates[1]))
	if len(v.Slices[named("a")]) != 0 || len(v.Slices[named("b")]) != 1 {
		t.Errorf("view %+v", v)
	}
	r.onSlice(sliceOf("b", "10.0.0.1"), nil)
	if updates := l.take(); len(updates) != 1 || !updates[0].Endpoints.Has(named("b")) {
		t.Errorf("after the deletion: updates %+v", updates)
	}
}

func TestLocalityOfANodeChangesTheEndpointsOnIt(t *testing.T) {
	t.Parallel()
	r, l := filled()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "n1", Labels: map[string]string{corev1.LabelTopologyZone: "z1"},
	}}
	before := r.View(&Update{})
	r.onNode(nil, node)
	if updates := l.take(); len(updates) != 1 || updates[0].Full || !updates[0].Endpoints.Equal(Names{named("a"): {}}) {
		t.Errorf("updates %+v", updates)
	}
	if before.Nodes["n1"].Zone != "" || r.View(&Update{}).Nodes["n1"].Zone != "z1" {
		t.Error("an earlier view has changed, or a later one has not")
	}
	r.onNode(node, node.DeepCopy())
	if updates := l.take(); len(updates) != 0 {
		t.Errorf("without a change: updates %+v", updates)
	}
}

func TestAddressThatIsUsedAgainKeepsItsNewWorkload(t *testing.T) {
	t.Parallel()
	r, l := filled()
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"app": name}},
			Status:     corev1.PodStatus{PodIP: "10.0.0.9"},
		}
	}
	r.onPod(nil, pod("old"))
	r.onPod(nil, pod("new"))
	r.onPod(pod("old"), nil)
	if r.WorkloadAt("10.0.0.9") == nil || len(l.addresses) != 2 {
		t.Errorf("workload %+v, changes at %v", r.WorkloadAt("10.0.0.9"), l.addresses)
	}
	r.onPod(pod("new"), nil)
	if w := r.WorkloadAt("10.0.0.9"); w != nil {
		t.Errorf("after the deletion: %+v", w)
	}
}
