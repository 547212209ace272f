package store

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// keepSystemFields gives an updated object the metadata that only the server
// writes.
func keepSystemFields(m, old metav1.Object) {
	m.SetUID(old.GetUID())
	m.SetCreationTimestamp(old.GetCreationTimestamp())
	m.SetDeletionTimestamp(old.GetDeletionTimestamp())
	m.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	m.SetGeneration(old.GetGeneration())
	m.SetGenerateName(old.GetGenerateName())
	m.SetNamespace(old.GetNamespace())
	m.SetSelfLink("")
}

// setStatus gives obj the status of from, or none if from is nil: a write of
// the main resource does not change the status.
func setStatus(obj, from runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		delete(u.Object, "status")
		if f, ok := from.(*unstructured.Unstructured); ok && f.Object["status"] != nil {
			u.Object["status"] = f.Object["status"]
		}
		return
	}
	status := reflect.ValueOf(obj).Elem().FieldByName("Status")
	switch {
	case !status.IsValid():
	case from == nil:
		status.SetZero()
	default:
		status.Set(reflect.ValueOf(from).Elem().FieldByName("Status"))
	}
}

// keepAllButStatus gives obj everything of old but its status and, of a
// built-in kind, its labels, annotations and finalizers: what a write of the
// status subresource may change.
func keepAllButStatus(obj, old runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if kept, ok := object.ShallowCopy(old).(*unstructured.Unstructured); ok {
			setStatus(kept, obj)
			u.Object = kept.Object
		}
		return
	}
	to, from := reflect.ValueOf(obj).Elem(), reflect.ValueOf(old).Elem()
	for i := range to.NumField() {
		switch to.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		default:
			to.Field(i).Set(from.Field(i))
		}
	}
}

// prepareCreate does what the kinds' create strategies do in Kubernetes.
func prepareCreate(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort}
		if slices.ContainsFunc(o.Spec.Containers, func(c corev1.Container) bool {
			return len(c.Resources.Requests)+len(c.Resources.Limits) > 0
		}) {
			o.Status.QOSClass = corev1.PodQOSBurstable
		}
	case *corev1.Namespace:
		o.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
		o.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
	case *corev1.PersistentVolumeClaim:
		o.Status.Phase = corev1.ClaimPending
	case *corev1.PersistentVolume:
		o.Status.Phase = corev1.VolumePending
	}
}

// prepareUpdate does what the kinds' update strategies do in Kubernetes.
func (s *Store) prepareUpdate(obj, old runtime.Object) error {
	switch o := obj.(type) {
	case *corev1.Service:
		if was, ok := old.(*corev1.Service); ok {
			return s.keepClusterIP(o, was)
		}
	case *corev1.Namespace:
		if was, ok := old.(*corev1.Namespace); ok {
			o.Spec.Finalizers = was.Spec.Finalizers
		}
	case *corev1.Secret:
		if was, ok := old.(*corev1.Secret); ok && o.Type != was.Type {
			return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(), o.Name, field.ErrorList{
				field.Invalid(field.NewPath("type"), o.Type, "field is immutable"),
			})
		}
	}
	return nil
}
