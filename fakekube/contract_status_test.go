package fakekube_test

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func statusTests() []test {
	return []test{
		{"StatusIsApart", testStatus},
		{"StatusPatch", testStatusPatch},
		{"NodesKeepStatusAtCreation", testNodeStatus},
		{"NamespaceIsCompleted", testNamespaceObject},
	}
}

func testStatus(t *serverTest) {
	pods := t.client.CoreV1().Pods(t.namespace(t))
	p := pod("a", "node-1")
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.1.2.3"}
	p = must(pods.Create(t.Context(), p, metav1.CreateOptions{}))(t)
	want(t, "phase at creation", p.Status.Phase, corev1.PodPending)
	want(t, "address at creation", p.Status.PodIP, "")
	want(t, "generation", p.Generation, 1)

	p.Status.Phase, p.Status.PodIP = corev1.PodRunning, "10.1.2.3"
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	p.Spec.Containers[0].Image = "ignored:1"
	p.Labels["status"] = "too"
	p = must(pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{}))(t)
	want(t, "phase", p.Status.Phase, corev1.PodRunning)
	want(t, "image", p.Spec.Containers[0].Image, "image:1")
	want(t, "label", p.Labels["status"], "too")
	want(t, "generation", p.Generation, 1)

	stale := p.DeepCopy()
	p.Status = corev1.PodStatus{}
	p.Labels["x"] = "y"
	p = must(pods.Update(t.Context(), p, metav1.UpdateOptions{}))(t)
	want(t, "address after an update of the pod", p.Status.PodIP, "10.1.2.3")
	want(t, "label", p.Labels["x"], "y")
	stale.Status.PodIP = "10.9.9.9"
	_, err := pods.UpdateStatus(t.Context(), stale, metav1.UpdateOptions{})
	wantError(t, "stale status update", err, apierrors.IsConflict)
}

func testStatusPatch(t *serverTest) {
	pods := t.client.CoreV1().Pods(t.namespace(t))
	must(pods.Create(t.Context(), pod("a", "node-1"), metav1.CreateOptions{}))(t)
	patch := []byte(`{"status":{"phase":"Running","podIP":"10.1.2.3","podIPs":[{"ip":"10.1.2.3"}]},"spec":{"nodeName":"other"}}`)
	p := must(pods.Patch(t.Context(), "a", types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"))(t)
	want(t, "address", p.Status.PodIP, "10.1.2.3")
	want(t, "node", p.Spec.NodeName, "node-1")
	_, err := t.client.CoreV1().ConfigMaps(p.Namespace).Patch(t.Context(), "a", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, "status")
	wantError(t, "status of a kind without", err, apierrors.IsNotFound)
}

func testNodeStatus(t *serverTest) {
	n := must(t.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "contract-"},
		Status:     corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1"}},
	}, metav1.CreateOptions{}))(t)
	want(t, "kubelet version", n.Status.NodeInfo.KubeletVersion, "v1")
	if err := t.client.CoreV1().Nodes().Delete(t.Context(), n.Name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

func testNamespaceObject(t *serverTest) {
	ns := must(t.client.CoreV1().Namespaces().Get(t.Context(), t.namespace(t), metav1.GetOptions{}))(t)
	want(t, "name label", ns.Labels[corev1.LabelMetadataName], ns.Name)
	want(t, "phase", ns.Status.Phase, corev1.NamespaceActive)
	want(t, "finalizers", len(ns.Spec.Finalizers), 1)
}
