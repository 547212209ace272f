package fakekube

import (
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// shallowCopy copies an object and its metadata struct, and shares the rest.
func shallowCopy(obj runtime.Object) runtime.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content := maps.Clone(u.Object)
		if m, ok := content["metadata"].(map[string]any); ok {
			content["metadata"] = maps.Clone(m)
		}
		return &unstructured.Unstructured{Object: content}
	}
	v := reflect.New(reflect.TypeOf(obj).Elem())
	v.Elem().Set(reflect.ValueOf(obj).Elem())
	out, ok := reflect.TypeAssert[runtime.Object](v)
	if !ok {
		return obj.DeepCopyObject()
	}
	return out
}

// keepStatus gives obj the status of old: a write of the main resource does
// not change status.
func keepStatus(obj, old runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if o, ok := old.(*unstructured.Unstructured); ok {
			setOrDelete(u.Object, o.Object, "status")
		}
		return
	}
	to, from := reflect.ValueOf(obj).Elem(), reflect.ValueOf(old).Elem()
	if f := to.FieldByName("Status"); f.IsValid() {
		f.Set(from.FieldByName("Status"))
	}
}

// dropStatus empties the status of an object that is created.
func dropStatus(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		delete(u.Object, "status")
		return
	}
	if f := reflect.ValueOf(obj).Elem().FieldByName("Status"); f.IsValid() {
		f.SetZero()
	}
}

// keepAllButStatus gives obj everything of old but its status and, of a
// built-in kind, its labels, annotations and finalizers: what a write of the
// status subresource may change.
func keepAllButStatus(obj, old runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if kept, ok := shallowCopy(old).(*unstructured.Unstructured); ok {
			setOrDelete(kept.Object, u.Object, "status")
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

func setOrDelete(to, from map[string]any, name string) {
	if v, ok := from[name]; ok {
		to[name] = v
		return
	}
	delete(to, name)
}

// sameSpec says that two untyped objects differ at most in metadata, status
// and type.
func sameSpec(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(specOf(a), specOf(b))
}

func specOf(u *unstructured.Unstructured) map[string]any {
	content := maps.Clone(u.Object)
	for _, k := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(content, k)
	}
	return content
}

// setSystemFields gives an updated object the metadata that only the server
// writes.
func setSystemFields(m, old metav1.Object) {
	m.SetUID(old.GetUID())
	m.SetCreationTimestamp(old.GetCreationTimestamp())
	m.SetDeletionTimestamp(old.GetDeletionTimestamp())
	m.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	m.SetGeneration(old.GetGeneration())
	m.SetGenerateName(old.GetGenerateName())
	m.SetNamespace(old.GetNamespace())
	m.SetSelfLink("")
}

// clearTypeMeta empties a typed object's kind and version, which stored
// objects do not carry, and sets an untyped one's.
func setTypeMeta(obj runtime.Object, res *resource) {
	if res.typed {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return
	}
	obj.GetObjectKind().SetGroupVersionKind(res.gvk)
}

// encodeRaw makes the protobuf of a typed object without its version; nil for
// an untyped one.
func encodeRaw(obj runtime.Object, m metav1.Object) ([]byte, error) {
	p, ok := obj.(protoMarshaler)
	if !ok {
		return nil, nil
	}
	m.SetResourceVersion("")
	return p.Marshal()
}
