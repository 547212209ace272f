package fakekube

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
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
	obj  runtime.Object // of the storage version; see object
	raw  []byte         // protobuf of a typed object without resourceVersion; nil if untyped
	size int            // bytes it counts for in the history

	// decode makes an object from raw, of a compact kind; see resource.
	decode func(raw []byte) (runtime.Object, error)

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

// object is the record's object, of the storage version; a typed one has an empty
// TypeMeta. Callers must not change it. Of a compact kind it is decoded anew at
// each call.
func (r *record) object() runtime.Object {
	if r.obj != nil || r.decode == nil {
		return r.obj
	}
	obj, err := r.decode(r.raw)
	if err != nil { // It was encoded here.
		panic(fmt.Sprintf("decode %s/%s: %v", r.key.namespace, r.key.name, err))
	}
	if m, err := meta.Accessor(obj); err == nil {
		m.SetResourceVersion(r.version())
	}
	return obj
}

// metadata is that of the record's object.
func (r *record) metadata() metav1.Object {
	m, err := meta.Accessor(r.object())
	if err != nil { // Every stored object has metadata.
		return &metav1.ObjectMeta{}
	}
	return m
}

// version is the record's resourceVersion, "" if it was not stored.
func (r *record) version() string {
	if r.rv == 0 {
		return ""
	}
	return strconv.FormatUint(r.rv, 10)
}

// opened is the record with its object in memory, for a writer, who looks at it
// several times.
func (r *record) opened() *record {
	if r == nil || r.obj != nil {
		return r
	}
	return &record{key: r.key, rv: r.rv, obj: r.object(), raw: r.raw, size: r.size, decode: r.decode}
}

// stored is the record as the store keeps it: of a compact kind without its object.
func (r *record) stored(res *resource) *record {
	if res.storage.decode == nil {
		return r
	}
	return &record{key: r.key, rv: r.rv, raw: r.raw, size: r.size, decode: res.storage.decode}
}

// is says whether both are one state of one object, or both nil.
func (r *record) is(other *record) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.key == other.key && r.rv == other.rv
}

// encode returns the record in a version and form, made once and then shared.
// Callers must not change it.
func (r *record) encode(res *resource, f form) (body, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b, ok := r.encodedLocked(res, f); ok {
		return b, nil
	}
	b, err := r.encodeNow(res, f)
	if err == nil {
		r.bodies = append(r.bodies, b)
	}
	return b, err
}

// encodeOnce is encode for a list. Lists are rare and long, so what they encode is
// not kept.
func (r *record) encodeOnce(res *resource, f form) (body, error) {
	r.mu.Lock()
	b, ok := r.encodedLocked(res, f)
	r.mu.Unlock()
	if ok {
		return b, nil
	}
	return r.encodeNow(res, f)
}

func (r *record) encodedLocked(res *resource, f form) (body, bool) {
	for _, b := range r.bodies {
		if b.res == res && b.form == f {
			return b, true
		}
	}
	return body{}, false
}

func (r *record) encodeNow(res *resource, f form) (body, error) {
	b, err := r.encodeAs(res, f)
	if err != nil {
		return body{}, fmt.Errorf("encode %s %s/%s: %w", res.gvk.Kind, r.key.namespace, r.key.name, err)
	}
	b.res, b.form = res, f
	return b, nil
}

func (r *record) encodeAs(res *resource, f form) (body, error) {
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
		return protoBody(res.typeMeta, withVersion(r.raw, r.version())), nil
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
	if m, ok := r.object().(metav1.ObjectMetaAccessor); ok {
		if om, ok := m.GetObjectMeta().(*metav1.ObjectMeta); ok {
			p.ObjectMeta = *om
			return p
		}
	}
	p.ObjectMeta = copyMeta(r.metadata())
	return p
}

// view is the record's object in a served version. It may share memory with
// the record.
func (r *record) view(res *resource) runtime.Object {
	obj := r.object()
	if u, ok := obj.(*unstructured.Unstructured); ok {
		// A definition can come to store another version than this object's.
		if u.GetAPIVersion() == res.gvk.GroupVersion().String() {
			return u
		}
	} else if res == res.storage {
		return obj
	}
	return convert(obj, res)
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
func newRecord(k key, obj runtime.Object, raw []byte, rv uint64) *record {
	return &record{key: k, rv: rv, obj: obj, raw: raw, size: len(raw)}
}

// withTypeMeta sets an untyped object's version, sharing everything else.
func withTypeMeta(u *unstructured.Unstructured, apiVersion string) *unstructured.Unstructured {
	content := maps.Clone(u.Object)
	content["apiVersion"] = apiVersion
	return &unstructured.Unstructured{Object: content}
}
