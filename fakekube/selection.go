package fakekube

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// selection is which objects of a resource a list or watch is about.
type selection struct {
	namespace string // "" for all
	name      string // "" for all; from metadata.name=X
	labels    labels.Selector
	fields    fields.Selector
	view      *resource // the version whose fields are selected by
}

// newSelection checks the selectors against the fields the kind knows.
func newSelection(res *resource, namespace string, opts *internalversion.ListOptions) (selection, error) {
	sel := selection{namespace: namespace, labels: labels.Everything(), fields: fields.Everything(), view: res}
	if opts.LabelSelector != nil {
		sel.labels = opts.LabelSelector
	}
	if opts.FieldSelector == nil {
		return sel, nil
	}
	f := opts.FieldSelector
	known := fieldNames(res)
	for _, req := range f.Requirements() {
		if !slices.Contains(known, req.Field) {
			return sel, apierrors.NewBadRequest("field label not supported: " + req.Field)
		}
	}
	sel.fields = f
	if name, ok := f.RequiresExactMatch("metadata.name"); ok {
		sel.name = name
	}
	return sel, nil
}

// everything says that any object in scope matches.
func (s selection) everything() bool { return s.labels.Empty() && s.fields.Empty() }

func (s selection) inScope(k key) bool {
	return (s.namespace == "" || s.namespace == k.namespace) && (s.name == "" || s.name == k.name)
}

// matches says whether a record in scope has the labels and fields.
func (s selection) matches(rec *record) bool {
	if !s.labels.Empty() && !s.labels.Matches(labels.Set(rec.metadata().GetLabels())) {
		return false
	}
	if s.fields.Empty() {
		return true
	}
	set := fields.Set{"metadata.name": rec.key.name, "metadata.namespace": rec.key.namespace}
	addFields(set, rec.view(s.view))
	return s.fields.Matches(set)
}

// selectLocked returns the matching objects in order of namespace and name.
// Store.mu is held.
func (s *Store) selectLocked(res *resource, sel selection) []*record {
	var out []*record
	if sel.name != "" && sel.namespace != "" || sel.name != "" && !res.namespaced {
		if rec := res.table.objects[key{sel.namespace, sel.name}]; rec != nil && sel.matches(rec) {
			out = append(out, rec)
		}
		return out
	}
	all := sel.everything()
	for k, rec := range res.table.objects {
		if sel.inScope(k) && (all || sel.matches(rec)) {
			out = append(out, rec)
		}
	}
	slices.SortFunc(out, func(a, b *record) int {
		if c := strings.Compare(a.key.namespace, b.key.namespace); c != 0 {
			return c
		}
		return strings.Compare(a.key.name, b.key.name)
	})
	return out
}

// fieldNames are the fields that a kind can be selected by; see the
// AddFieldLabelConversionFunc calls of Kubernetes.
func fieldNames(res *resource) []string {
	names := []string{"metadata.name"}
	if res.namespaced {
		names = append(names, "metadata.namespace")
	}
	var more string
	switch res.groupResource().String() {
	case "pods":
		more = "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork " +
			"status.phase status.podIP status.nominatedNodeName"
	case "secrets":
		more = "type"
	case "namespaces":
		more = "status.phase"
	case "nodes":
		more = "spec.unschedulable"
	case "services":
		more = "spec.clusterIP spec.type"
	case "events", "events.events.k8s.io":
		more = "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid " +
			"involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath " +
			"reason reportingComponent source type"
		if res.gvk.Group != "" {
			more = strings.ReplaceAll(strings.ReplaceAll(more, "involvedObject", "regarding"),
				"reportingComponent source", "reportingController")
		}
	}
	return append(names, strings.Fields(more)...)
}

// addFields sets the kind's own fields.
func addFields(set fields.Set, obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Pod:
		set["spec.nodeName"] = o.Spec.NodeName
		set["spec.restartPolicy"] = string(o.Spec.RestartPolicy)
		set["spec.schedulerName"] = o.Spec.SchedulerName
		set["spec.serviceAccountName"] = o.Spec.ServiceAccountName
		set["spec.hostNetwork"] = strconv.FormatBool(o.Spec.HostNetwork)
		set["status.phase"] = string(o.Status.Phase)
		set["status.podIP"] = o.Status.PodIP
		set["status.nominatedNodeName"] = o.Status.NominatedNodeName
	case *corev1.Secret:
		set["type"] = string(o.Type)
	case *corev1.Namespace:
		set["status.phase"] = string(o.Status.Phase)
	case *corev1.Node:
		set["spec.unschedulable"] = strconv.FormatBool(o.Spec.Unschedulable)
	case *corev1.Service:
		set["spec.clusterIP"] = o.Spec.ClusterIP
		set["spec.type"] = string(o.Spec.Type)
	default:
		addEventFields(set, obj)
	}
}
