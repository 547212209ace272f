package fakekube

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const none = "<none>"

// tableColumns are a kind's columns after the name, as in Kubernetes'
// pkg/printers/internalversion for the kinds a control plane deals with. The
// columns of a built-in kind match builtinCells.
func tableColumns(res *resource) []column {
	if !res.typed {
		return res.columns
	}
	text := "Age:date"
	switch res.groupResource().String() {
	case "pods":
		text = "Ready Status Restarts:integer Age:date +IP +Node"
	case "services":
		text = "Type Cluster-IP External-IP Port(s) Age:date +Selector"
	case "endpointslices.discovery.k8s.io":
		text = "AddressType Ports Endpoints Age:date"
	case "endpoints":
		text = "Endpoints Age:date"
	case "nodes":
		text = "Status Roles Age:date Version"
	case "namespaces":
		text = "Status Age:date"
	case "configmaps":
		text = "Data:integer Age:date"
	case "secrets":
		text = "Type Data:integer Age:date"
	case "leases.coordination.k8s.io":
		text = "Holder Age:date"
	case "deployments.apps":
		text = "Ready Up-to-date:integer Available:integer Age:date"
	case "events":
		text = "Age:date Type Reason Object Message"
	}
	return columnsOf(text)
}

// builtinCells are the cells between name and age, and after it.
func builtinCells(obj runtime.Object) []any {
	switch o := obj.(type) {
	case *corev1.Pod:
		return podCells(o)
	case *corev1.Service:
		return serviceCells(o)
	case *discoveryv1.EndpointSlice:
		return sliceCells(o)
	case *corev1.Endpoints: //nolint:staticcheck // Deprecated, and still served.
		return []any{endpointsCell(o)}
	case *corev1.Node:
		return nodeCells(o)
	case *corev1.Namespace:
		return []any{string(o.Status.Phase)}
	case *corev1.ConfigMap:
		return []any{len(o.Data) + len(o.BinaryData)}
	case *corev1.Secret:
		return []any{string(o.Type), len(o.Data)}
	case *coordinationv1.Lease:
		holder := ""
		if o.Spec.HolderIdentity != nil {
			holder = *o.Spec.HolderIdentity
		}
		return []any{holder}
	case *appsv1.Deployment:
		want := int32(1)
		if o.Spec.Replicas != nil {
			want = *o.Spec.Replicas
		}
		ready := strconv.Itoa(int(o.Status.ReadyReplicas)) + "/" + strconv.Itoa(int(want))
		return []any{ready, o.Status.UpdatedReplicas, o.Status.AvailableReplicas}
	case *corev1.Event:
		return []any{
			o.Type, o.Reason, strings.ToLower(o.InvolvedObject.Kind) + "/" + o.InvolvedObject.Name, strings.TrimSpace(o.Message),
		}
	}
	return nil
}

func podCells(p *corev1.Pod) []any {
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
		strconv.Itoa(ready) + "/" + strconv.Itoa(len(p.Spec.Containers)), status, restarts,
		orNone(p.Status.PodIP), orNone(p.Spec.NodeName),
	}
}

func serviceCells(s *corev1.Service) []any {
	external := none
	switch {
	case len(s.Spec.ExternalIPs) > 0:
		external = strings.Join(s.Spec.ExternalIPs, ",")
	case s.Spec.Type == corev1.ServiceTypeExternalName:
		external = s.Spec.ExternalName
	case s.Spec.Type == corev1.ServiceTypeLoadBalancer:
		external = "<pending>"
	}
	var ports, selector []string
	for _, p := range s.Spec.Ports {
		text := strconv.Itoa(int(p.Port))
		if p.NodePort != 0 {
			text += ":" + strconv.Itoa(int(p.NodePort))
		}
		ports = append(ports, text+"/"+string(p.Protocol))
	}
	for k, v := range s.Spec.Selector {
		selector = append(selector, k+"="+v)
	}
	return []any{string(s.Spec.Type), orNone(s.Spec.ClusterIP), external, orNone(strings.Join(ports, ",")), some(selector)}
}

func sliceCells(s *discoveryv1.EndpointSlice) []any {
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
	return []any{string(s.AddressType), some(ports), some(addresses)}
}

func endpointsCell(e *corev1.Endpoints) string { //nolint:staticcheck // Deprecated, and still served.
	var out []string
	for _, s := range e.Subsets {
		for _, a := range s.Addresses {
			for _, p := range s.Ports {
				out = append(out, a.IP+":"+strconv.Itoa(int(p.Port)))
			}
		}
	}
	return some(out)
}

func nodeCells(n *corev1.Node) []any {
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
	return []any{status, some(roles), n.Status.NodeInfo.KubeletVersion}
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

// some prints at most three of a list.
func some(list []string) string {
	const shown = 3
	if len(list) > shown {
		return strings.Join(list[:shown], ",") + " + " + strconv.Itoa(len(list)-shown) + " more..."
	}
	return orNone(strings.Join(list, ","))
}
