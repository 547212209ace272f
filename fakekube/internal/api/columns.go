package api

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/table"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

const none = "<none>"

// builtinTable returns a built-in kind's columns after the name and an object's
// cells, as in Kubernetes' pkg/printers/internalversion for the kinds a control
// plane deals with. Columns are "NAME:type ..."; the type is string if it is left
// out, and a + marks what kubectl get -o wide alone shows.
func builtinTable(obj runtime.Object) (columns string, cells []any) {
	age := "<unknown>"
	if m, err := meta.Accessor(obj); err == nil {
		age = table.ConvertToHumanReadableDateType(m.GetCreationTimestamp())
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		return "Ready Status Restarts:integer Age +IP +Node", podCells(o, age)
	case *corev1.Service:
		return "Type Cluster-IP External-IP Port(s) Age +Selector", serviceCells(o, age)
	case *discoveryv1.EndpointSlice:
		return "AddressType Ports Endpoints Age", sliceCells(o, age)
	case *corev1.Endpoints: //nolint:staticcheck // Deprecated, and still served.
		return "Endpoints Age", []any{endpointsCell(o), age}
	case *corev1.Node:
		return "Status Roles Age Version", nodeCells(o, age)
	case *corev1.Namespace:
		return "Status Age", []any{string(o.Status.Phase), age}
	case *corev1.ConfigMap:
		return "Data:integer Age", []any{len(o.Data) + len(o.BinaryData), age}
	case *corev1.Secret:
		return "Type Data:integer Age", []any{string(o.Type), len(o.Data), age}
	case *coordinationv1.Lease:
		return "Holder Age", []any{ptr.Deref(o.Spec.HolderIdentity, ""), age}
	case *appsv1.Deployment:
		ready := fmt.Sprintf("%d/%d", o.Status.ReadyReplicas, ptr.Deref(o.Spec.Replicas, 1))
		return "Ready Up-to-date:integer Available:integer Age",
			[]any{ready, o.Status.UpdatedReplicas, o.Status.AvailableReplicas, age}
	case *corev1.Event:
		about := strings.ToLower(o.InvolvedObject.Kind) + "/" + o.InvolvedObject.Name
		return "Age Type Reason Object Message", []any{age, o.Type, o.Reason, about, strings.TrimSpace(o.Message)}
	}
	return "Age", []any{age}
}

func podCells(p *corev1.Pod, age string) []any {
	ready, restarts := 0, int32(0)
	for _, s := range p.Status.ContainerStatuses {
		restarts += s.RestartCount
		if s.Ready {
			ready++
		}
	}
	status := string(p.Status.Phase)
	if p.Status.Reason != "" {
		status = p.Status.Reason
	}
	if p.DeletionTimestamp != nil {
		status = "Terminating"
	}
	return []any{
		fmt.Sprintf("%d/%d", ready, len(p.Spec.Containers)), status, restarts, age,
		orNone(p.Status.PodIP), orNone(p.Spec.NodeName),
	}
}

func serviceCells(s *corev1.Service, age string) []any {
	external := none
	switch {
	case len(s.Spec.ExternalIPs) > 0:
		external = strings.Join(s.Spec.ExternalIPs, ",")
	case s.Spec.Type == corev1.ServiceTypeExternalName:
		external = s.Spec.ExternalName
	case s.Spec.Type == corev1.ServiceTypeLoadBalancer:
		external = "<pending>"
	}
	var ports []string
	for _, p := range s.Spec.Ports {
		text := strconv.Itoa(int(p.Port))
		if p.NodePort != 0 {
			text += ":" + strconv.Itoa(int(p.NodePort))
		}
		ports = append(ports, text+"/"+string(p.Protocol))
	}
	return []any{string(s.Spec.Type), orNone(s.Spec.ClusterIP), external, orNone(strings.Join(ports, ",")), age, labels.FormatLabels(s.Spec.Selector)}
}

func sliceCells(s *discoveryv1.EndpointSlice, age string) []any {
	var ports, addresses []string
	for _, p := range s.Ports {
		switch {
		case p.Port != nil:
			ports = append(ports, strconv.Itoa(int(*p.Port)))
		case p.Name != nil:
			ports = append(ports, *p.Name)
		}
	}
	for _, e := range s.Endpoints {
		addresses = append(addresses, e.Addresses...)
	}
	return []any{string(s.AddressType), firstOf(ports), firstOf(addresses), age}
}

func endpointsCell(e *corev1.Endpoints) string { //nolint:staticcheck // Deprecated, and still served.
	var out []string
	for _, s := range e.Subsets {
		for _, a := range s.Addresses {
			for _, p := range s.Ports {
				out = append(out, net.JoinHostPort(a.IP, strconv.Itoa(int(p.Port))))
			}
		}
	}
	return firstOf(out)
}

func nodeCells(n *corev1.Node, age string) []any {
	status, roles := "Unknown", []string(nil)
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			status = "NotReady"
			if c.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	for label := range n.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return []any{status, firstOf(roles), age, n.Status.NodeInfo.KubeletVersion}
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

// firstOf prints at most three of a list.
func firstOf(list []string) string {
	const shown = 3
	if len(list) > shown {
		return strings.Join(list[:shown], ",") + " + " + strconv.Itoa(len(list)-shown) + " more..."
	}
	return orNone(strings.Join(list, ","))
}
