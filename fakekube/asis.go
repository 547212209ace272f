package fakekube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// asIs is what a field manager asks of a scheme, for objects that are already
// of the version it works in: nothing is converted or defaulted.
type asIs struct{}

var (
	_ runtime.ObjectConvertor = asIs{}
	_ runtime.ObjectDefaulter = asIs{}
	_ runtime.ObjectCreater   = asIs{}
)

// Default does nothing: defaults are set when the object is stored.
func (asIs) Default(runtime.Object) {}

// New makes an empty custom object.
func (asIs) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// ConvertToVersion returns the object itself.
func (asIs) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

// Convert is not used by field managers.
func (asIs) Convert(in, _, _ any) error {
	return fmt.Errorf("convert %T: custom objects have one shape in all versions", in)
}

// ConvertFieldLabel leaves a field's name and value alone.
func (asIs) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
