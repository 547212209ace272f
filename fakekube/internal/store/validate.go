package store

import (
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// nameRule is the rule for the names of a kind.
func nameRule(res *kinds.Resource) validation.ValidateNameFunc {
	switch res.GroupResource().String() {
	case "namespaces":
		return validation.ValidateNamespaceName
	case "services":
		return validation.NameIsDNSLabel
	}
	if res.GVK.Group == "rbac.authorization.k8s.io" {
		return func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	}
	return validation.NameIsDNSSubdomain
}

// validateCreate checks the metadata, which is all that is checked of most
// kinds.
func validateCreate(res *kinds.Resource, obj runtime.Object, m metav1.Object) error {
	errs := validation.ValidateObjectMetaAccessor(m, res.Namespaced, nameRule(res), field.NewPath("metadata"))
	return invalid(res, m, append(errs, validateDefinition(res, obj)...))
}

// validateUpdate checks what changed of the metadata: parsing labels again
// that have not changed would cost more than the rest of a small update.
func validateUpdate(res *kinds.Resource, obj runtime.Object, m metav1.Object, before *object.Revision) error {
	errs := validateDefinition(res, obj)
	old := before.Meta()
	if !maps.Equal(m.GetLabels(), old.GetLabels()) || !maps.Equal(m.GetAnnotations(), old.GetAnnotations()) ||
		!slices.Equal(m.GetFinalizers(), old.GetFinalizers()) || len(m.GetOwnerReferences()) > 0 {
		at := field.NewPath("metadata")
		m.SetResourceVersion(old.GetResourceVersion())
		errs = append(errs, validation.ValidateObjectMetaAccessor(m, res.Namespaced, nameRule(res), at)...)
		errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(m, old, at)...)
	}
	return invalid(res, m, errs)
}

func validateDefinition(res *kinds.Resource, obj runtime.Object) field.ErrorList {
	if u, ok := obj.(*unstructured.Unstructured); ok && res.GroupResource() == kinds.Definitions() {
		return kinds.ValidateDefinition(u)
	}
	return nil
}

func invalid(res *kinds.Resource, m metav1.Object, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(res.GVK.GroupKind(), m.GetName(), errs)
}
