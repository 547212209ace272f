package store

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// selection is which objects of a resource a list or watch is about.
type selection struct {
	namespace string // "" for all
	name      string // "" for all; from metadata.name=X
	labels    labels.Selector
	fields    fields.Selector
	resource  *kinds.Resource // the version that the fields are of
}

// allIn selects all objects of a namespace, or of all of them.
func allIn(namespace string) selection {
	return selection{namespace: namespace, labels: labels.Everything(), fields: fields.Everything()}
}

// newSelection checks the selectors against the fields that the kind knows.
func newSelection(res *kinds.Resource, namespace string, opts *internalversion.ListOptions) (selection, error) {
	sel := allIn(namespace)
	sel.resource = res
	if opts.LabelSelector != nil {
		sel.labels = opts.LabelSelector
	}
	if opts.FieldSelector == nil {
		return sel, nil
	}
	known := fields.Set{"metadata.name": ""}
	if res.Namespaced {
		known["metadata.namespace"] = ""
	}
	if empty, err := scheme.Scheme.New(res.GVK); err == nil {
		maps.Copy(known, selectableFields(empty))
	}
	for _, req := range opts.FieldSelector.Requirements() {
		if !known.Has(req.Field) {
			return sel, apierrors.NewBadRequest("field label not supported: " + req.Field)
		}
	}
	sel.fields = opts.FieldSelector
	sel.name, _ = sel.fields.RequiresExactMatch("metadata.name")
	return sel, nil
}

// everything says that any object in scope matches.
func (s selection) everything() bool { return s.labels.Empty() && s.fields.Empty() }

func (s selection) inScope(key object.Key) bool {
	return (s.namespace == "" || s.namespace == key.Namespace) && (s.name == "" || s.name == key.Name)
}

// matches says whether a revision in scope has the labels and fields.
func (s selection) matches(rev *object.Revision) bool {
	if !s.labels.Empty() && !s.labels.Matches(labels.Set(rev.Meta().GetLabels())) {
		return false
	}
	if s.fields.Empty() {
		return true
	}
	set := fields.Set{"metadata.name": rev.Key.Name, "metadata.namespace": rev.Key.Namespace}
	maps.Copy(set, selectableFields(rev.As(s.resource)))
	return s.fields.Matches(set)
}

// selectLocked returns the matching objects in order of namespace and name.
// Store.mu is held.
func (t *table) selectLocked(sel selection) []*object.Revision {
	var out []*object.Revision
	all := sel.everything()
	for key, rev := range t.objects {
		if sel.inScope(key) && (all || sel.matches(rev)) {
			out = append(out, rev)
		}
	}
	slices.SortFunc(out, func(a, b *object.Revision) int {
		if c := strings.Compare(a.Key.Namespace, b.Key.Namespace); c != 0 {
			return c
		}
		return strings.Compare(a.Key.Name, b.Key.Name)
	})
	return out
}

// selectableFields are the fields, beside name and namespace, that an object
// can be selected by; see the AddFieldLabelConversionFunc calls of Kubernetes.
func selectableFields(obj runtime.Object) fields.Set {
	switch o := obj.(type) {
	case *corev1.Pod:
		return fields.Set{
			"spec.nodeName":            o.Spec.NodeName,
			"spec.restartPolicy":       string(o.Spec.RestartPolicy),
			"spec.schedulerName":       o.Spec.SchedulerName,
			"spec.serviceAccountName":  o.Spec.ServiceAccountName,
			"spec.hostNetwork":         strconv.FormatBool(o.Spec.HostNetwork),
			"status.phase":             string(o.Status.Phase),
			"status.podIP":             o.Status.PodIP,
			"status.nominatedNodeName": o.Status.NominatedNodeName,
		}
	case *corev1.Secret:
		return fields.Set{"type": string(o.Type)}
	case *corev1.Namespace:
		return fields.Set{"status.phase": string(o.Status.Phase)}
	case *corev1.Node:
		return fields.Set{"spec.unschedulable": strconv.FormatBool(o.Spec.Unschedulable)}
	case *corev1.Service:
		return fields.Set{"spec.clusterIP": o.Spec.ClusterIP, "spec.type": string(o.Spec.Type)}
	case *corev1.Event:
		set := referenceFields("involvedObject.", o.InvolvedObject)
		set["reason"], set["type"], set["reportingComponent"] = o.Reason, o.Type, o.ReportingController
		set["source"] = o.Source.Component
		if set["source"] == "" {
			set["source"] = o.ReportingController
		}
		return set
	case *eventsv1.Event:
		set := referenceFields("regarding.", o.Regarding)
		set["reason"], set["type"], set["reportingController"] = o.Reason, o.Type, o.ReportingController
		return set
	}
	return nil
}

func referenceFields(prefix string, ref corev1.ObjectReference) fields.Set {
	return fields.Set{
		prefix + "kind": ref.Kind, prefix + "namespace": ref.Namespace, prefix + "name": ref.Name,
		prefix + "uid": string(ref.UID), prefix + "apiVersion": ref.APIVersion,
		prefix + "resourceVersion": ref.ResourceVersion, prefix + "fieldPath": ref.FieldPath,
	}
}
