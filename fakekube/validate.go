package fakekube

import (
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// nameRule is the rule for the names of a kind.
func nameRule(res *resource) validation.ValidateNameFunc {
	switch res.groupResource().String() {
	case "namespaces":
		return validation.ValidateNamespaceName
	case "services":
		return validation.NameIsDNSLabel
	}
	if res.gvk.Group == "rbac.authorization.k8s.io" {
		return pathSegmentName
	}
	return validation.NameIsDNSSubdomain
}

// pathSegmentName is the rule for names that only have to fit in a URL.
func pathSegmentName(name string, prefix bool) []string {
	if !prefix && (name == "." || name == "..") {
		return []string{"may not be '.' or '..'"}
	}
	if strings.ContainsAny(name, "/%") {
		return []string{"may not contain '/' or '%'"}
	}
	return nil
}

// validateCreate checks the metadata, which is all that is checked of most
// kinds.
func validateCreate(res *resource, obj runtime.Object, m metav1.Object) error {
	errs := validation.ValidateObjectMetaAccessor(m, res.namespaced, nameRule(res), field.NewPath("metadata"))
	if u, ok := obj.(*unstructured.Unstructured); ok && res.groupResource() == crdResource() {
		errs = append(errs, validateCustomDefinition(u)...)
	}
	return invalid(res, m.GetName(), errs)
}

// validateUpdate checks what changed of the metadata: parsing labels again
// that have not changed would cost more than the rest of a small update.
func validateUpdate(res *resource, m metav1.Object, cur *record) error {
	old := cur.metadata()
	if maps.Equal(m.GetLabels(), old.GetLabels()) && maps.Equal(m.GetAnnotations(), old.GetAnnotations()) &&
		slices.Equal(m.GetFinalizers(), old.GetFinalizers()) && len(m.GetOwnerReferences()) == 0 {
		return nil
	}
	at := field.NewPath("metadata")
	m.SetResourceVersion(old.GetResourceVersion())
	errs := validation.ValidateObjectMetaAccessor(m, res.namespaced, nameRule(res), at)
	errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(m, old, at)...)
	return invalid(res, m.GetName(), errs)
}

func invalid(res *resource, name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(res.gvk.GroupKind(), name, errs)
}
