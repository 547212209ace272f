package mesh

import (
	"fmt"
	"maps"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// hostsPerSubnet leaves out the .0 and .255 of every /24.
	hostsPerSubnet = 254
	// maxPods is how many pods 10.0.0.0/8 has addresses for.
	maxPods = 256 * 256 * hostsPerSubnet
)

// Pod is one workload: an endpoint of a service, or a fake proxy. Its name and
// address follow from its number, which is unique in the mesh.
type Pod struct {
	Name, Namespace, Service string
	// IP is in 10.0.0.0/8 and belongs to no other pod, before or after.
	IP string
	// Node is the node it runs on, in Zone of Region.
	Node, Zone, Region string
	ServiceAccount     string
	// Labels are shared between pods: read them only.
	Labels map[string]string

	number int
	hostIP string
}

// NewPod returns the pod with the given number as a pod of this service; it
// does not add it. Numbers below Mesh.NextPod are taken. It fails when
// 10.0.0.0/8 is used up.
func (s *Service) NewPod(number int) (Pod, error) {
	if number < 0 || number >= maxPods {
		return Pod{}, fmt.Errorf("pod %d of %s: 10.0.0.0/8 has addresses for %d pods: lower the sizes or the churn", number, s.Key(), maxPods)
	}
	node := s.shared.nodes[number%len(s.shared.nodes)]
	return Pod{
		Name:           s.name + "-" + strconv.Itoa(number),
		Namespace:      s.namespace,
		Service:        s.name,
		IP:             address(number),
		Node:           node.name,
		Zone:           node.zone,
		Region:         region,
		ServiceAccount: s.name,
		Labels:         s.podLabels[number%len(s.podLabels)],
		number:         number,
		hostIP:         node.ip,
	}, nil
}

// address returns the address of a pod in 10.0.0.0/8.
func address(number int) string {
	subnet, host := number/hostsPerSubnet, number%hostsPerSubnet+1
	return netip.AddrFrom4([4]byte{10, byte(subnet >> 8), byte(subnet), byte(host)}).String()
}

// Object returns the pod as the API server has it once it runs. Its status
// (address, Running, Ready) is a subresource, to be written by itself after the
// pod is created.
func (p Pod) Object() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, Labels: maps.Clone(p.Labels)},
		Spec: corev1.PodSpec{
			ServiceAccountName:            p.ServiceAccount,
			NodeName:                      p.Node,
			TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{
				Name:  "app",
				Image: "registry.k8s.io/pause:3.10",
			}},
		},
		Status: corev1.PodStatus{
			Phase:  corev1.PodRunning,
			HostIP: p.hostIP,
			PodIP:  p.IP,
			PodIPs: []corev1.PodIP{{IP: p.IP}},
			Conditions: []corev1.PodCondition{
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
			},
		},
	}
}
