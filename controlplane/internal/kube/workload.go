package kube

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Workload is what determines the inbound configuration of a proxy: the labels by
// which services select its pod, and the pod's named ports.
type Workload struct {
	Key string // equal for workloads of equal content

	namespace string
	labels    labels.Set
	ports     map[string]uint32
}

// NewWorkload returns the workload of a pod and the address that its proxy
// reports; nil if the pod has no address of its own or has ended.
func NewWorkload(pod *corev1.Pod) (*Workload, string) {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.Status.PodIP == "" || pod.Spec.HostNetwork || ended {
		return nil, ""
	}
	w := &Workload{namespace: pod.Namespace, labels: pod.Labels, ports: make(map[string]uint32)}
	for i := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[i].Ports {
			if port.Name != "" {
				w.ports[port.Name] = uint32(port.ContainerPort)
			}
		}
	}
	// Sorted and quoted, so that no two contents share a key.
	w.Key = fmt.Sprintf("%q %q %#v", w.namespace, map[string]string(w.labels), w.ports)
	return w, pod.Status.PodIP
}

// SelectedBy tells whether s selects w. A service without selector selects
// nothing.
func (w *Workload) SelectedBy(s *Service) bool {
	return len(s.Selector) > 0 && s.Name.Namespace == w.namespace &&
		labels.SelectorFromSet(s.Selector).Matches(w.labels)
}

// Port resolves the target of p; 0 if the pod has no port of that name.
func (w *Workload) Port(p Port) uint32 {
	if p.TargetName != "" {
		return w.ports[p.TargetName]
	}
	return p.Target
}

// Labeled tells whether w, which may be nil, has all of some labels.
func (w *Workload) Labeled(with map[string]string) bool {
	return len(with) == 0 || w != nil && labels.SelectorFromSet(with).Matches(w.labels)
}

// Namespace is the pod's.
func (w *Workload) Namespace() string { return w.namespace }
