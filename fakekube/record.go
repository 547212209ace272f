package fakekube

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// form is an encoding of an object on the wire.
type form uint8

const (
	formJSON form = iota
	formProto
	formMetaJSON  // PartialObjectMetadata
	formMetaProto // PartialObjectMetadata in protobuf
)

// key names an object within its resource.
type key struct{ namespace, name string }

// record is one state of one object. Nothing in it changes once it is
// published, except that encodings are added when they are first asked for;
// history, lists and all watchers share them.
type record struct {
	key  key
	rv   uint64
	obj  runtime.Object // of the storage version; typed objects have an empty TypeMeta
	meta metav1.Object
	raw  []byte // protobuf of a typed object without resourceVersion; nil if untyped
	size int    // bytes it counts for in the history

	mu     sync.Mutex
	bodies []body
}

// body is a record in one version and form. Item is its part within a list.
type body struct {
	res  *resource
	form form
	data []byte
	item []byte
}

// encode returns the record in a version and form, made once and then shared.
// Callers must not change it.
func (r *record) encode(res *resource, f form) (body, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.bodies {
		if b.res == res && b.form == f {
			return b, nil
		}
	}
	b, err := r.encodeNow(res, f)
	if err != nil {
		return body{}, fmt.Errorf("encode %s %s/%s: %w", res.gvk.Kind, r.key.namespace, r.key.name, err)
	}
	b.res, b.form = res, f
	r.bodies = append(r.bodies, b)
	return b, nil
}

func (r *record) encodeNow(res *resource, f form) (body, error) {
	switch f {
	case formMetaJSON:
		data, err := json.Marshal(r.partial(true))
		return body{data: data, item: data}, err
	case formMetaProto:
		raw, err := r.partial(false).Marshal()
		return protoBody(protoTypeMeta(metav1.SchemeGroupVersion.String(), "PartialObjectMetadata"), raw), err
	case formProto:
		return r.encodeProto(res)
	case formJSON:
	}
	obj := r.view(res)
	data, err := json.Marshal(obj)
	if err != nil || !res.typed {
		return body{data: data, item: data}, err
	}
	full := make([]byte, 0, len(res.jsonHead)+len(data))
	full = append(append(full, res.jsonHead...), data[1:]...)
	return body{data: full, item: data}, nil
}

func (r *record) encodeProto(res *resource) (body, error) {
	if r.raw != nil && res == res.storage {
		return protoBody(res.typeMeta, withVersion(r.raw, r.meta.GetResourceVersion())), nil
	}
	m, ok := r.view(res).(protoMarshaler)
	if !ok {
		return body{}, errNotProto
	}
	raw, err := m.Marshal()
	return protoBody(res.typeMeta, raw), err
}

// partial is the record's metadata alone.
func (r *record) partial(named bool) *metav1.PartialObjectMetadata {
	p := &metav1.PartialObjectMetadata{}
	if named {
		p.APIVersion, p.Kind = metav1.SchemeGroupVersion.String(), "PartialObjectMetadata"
	}
	if m, ok := r.obj.(metav1.ObjectMetaAccessor); ok {
		if om, ok := m.GetObjectMeta().(*metav1.ObjectMeta); ok {
			p.ObjectMeta = *om
			return p
		}
	}
	p.ObjectMeta = copyMeta(r.meta)
	return p
}

// view is the record's object in a served version. It may share memory with
// the record.
func (r *record) view(res *resource) runtime.Object {
	if u, ok := r.obj.(*unstructured.Unstructured); ok {
		// A definition can come to store another version than this object's.
		if u.GetAPIVersion() == res.gvk.GroupVersion().String() {
			return u
		}
	} else if res == res.storage {
		return r.obj
	}
	return convert(r.obj, res)
}

// copyOut is the record's object in a served version, for a caller who may
// change it.
func (r *record) copyOut(res *resource) runtime.Object {
	return r.view(res).DeepCopyObject()
}

// copyMeta gathers the metadata of an untyped object.
func copyMeta(m metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.GetName(), GenerateName: m.GetGenerateName(), Namespace: m.GetNamespace(),
		UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(), Generation: m.GetGeneration(),
		CreationTimestamp: m.GetCreationTimestamp(), DeletionTimestamp: m.GetDeletionTimestamp(),
		DeletionGracePeriodSeconds: m.GetDeletionGracePeriodSeconds(),
		Labels:                     m.GetLabels(), Annotations: m.GetAnnotations(),
		OwnerReferences: m.GetOwnerReferences(), Finalizers: m.GetFinalizers(),
		ManagedFields: m.GetManagedFields(),
	}
}

// newRecord makes the record of obj, which from now on must not change. Raw
// is the object's protobuf without resourceVersion, for typed objects.
func newRecord(k key, obj runtime.Object, m metav1.Object, raw []byte, rv uint64) *record {
	return &record{key: k, rv: rv, obj: obj, meta: m, raw: raw, size: len(raw)}
}

// withTypeMeta sets an untyped object's version, sharing everything else.
func withTypeMeta(u *unstructured.Unstructured, apiVersion string) *unstructured.Unstructured {
	content := maps.Clone(u.Object)
	content["apiVersion"] = apiVersion
	return &unstructured.Unstructured{Object: content}
}
