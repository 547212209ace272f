// Package object holds one state of one Kubernetes object, a Revision, and
// encodes it: in JSON or protobuf, whole or its metadata alone, each encoding
// made once and shared by all who ask for it.
package object

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
)

// Key names an object within its resource.
type Key struct{ Namespace, Name string }

// Revision is one state of one object. Nothing in it changes once it is stored,
// except that encodings are added when they are first asked for: the history,
// lists and all watchers share it.
type Revision struct {
	Key     Key
	Version uint64 // the resourceVersion; 0 if it was not stored
	Size    int    // bytes it counts for in the history

	storage *kinds.Resource
	object  runtime.Object // of the storage version; nil if only raw is kept
	raw     []byte         // protobuf of a typed object without resourceVersion

	mu      sync.Mutex
	encoded []Encoded
}

// New makes the revision of an object of the storage version, which must not
// change from now on. The object loses its resourceVersion.
func New(storage *kinds.Resource, obj runtime.Object) (*Revision, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	r := &Revision{Key: Key{m.GetNamespace(), m.GetName()}, storage: storage, object: obj}
	m.SetResourceVersion("")
	switch o := obj.(type) {
	case protoMarshaler:
		r.raw, err = o.Marshal()
		r.Size = len(r.raw)
	case *unstructured.Unstructured:
		var data []byte
		data, err = o.MarshalJSON()
		r.Size = len(data)
	}
	return r, err
}

// SetVersion gives a new revision its resourceVersion, before others see it.
func (r *Revision) SetVersion(version uint64) {
	r.Version = version
	r.Meta().SetResourceVersion(r.version())
}

func (r *Revision) version() string {
	if r.Version == 0 {
		return ""
	}
	return strconv.FormatUint(r.Version, 10)
}

// WithVersion is the same state under another version. Only the metadata is
// copied: the rest is immutable and shared.
func (r *Revision) WithVersion(version uint64) *Revision {
	out := &Revision{Key: r.Key, Size: r.Size, storage: r.storage, object: ShallowCopy(r.Object()), raw: r.raw}
	out.SetVersion(version)
	return out
}

// Decoded is the revision with its object in memory, for a writer, who looks at
// it several times.
func (r *Revision) Decoded() *Revision {
	if r.object != nil {
		return r
	}
	return &Revision{Key: r.Key, Version: r.Version, Size: r.Size, storage: r.storage, object: r.Object(), raw: r.raw}
}

// Stored is the revision as the store keeps it: without its object if the kind
// is EncodedOnly.
func (r *Revision) Stored() *Revision {
	if !r.storage.EncodedOnly {
		return r
	}
	return &Revision{Key: r.Key, Version: r.Version, Size: r.Size, storage: r.storage, raw: r.raw}
}

// Object is the object in its storage version; a typed one has an empty
// TypeMeta. Callers must not change it. An object of an EncodedOnly kind is
// decoded anew at each call.
func (r *Revision) Object() runtime.Object {
	if r.object != nil {
		return r.object
	}
	obj, err := scheme.Scheme.New(r.storage.GVK)
	if generated, ok := obj.(interface{ Unmarshal(data []byte) error }); ok {
		err = generated.Unmarshal(r.raw)
	}
	if err != nil { // It was encoded here.
		panic(fmt.Sprintf("decode %s %v: %v", r.storage.GVK.Kind, r.Key, err))
	}
	metaOf(obj).SetResourceVersion(r.version())
	return obj
}

// Meta is the object's metadata.
func (r *Revision) Meta() metav1.Object { return metaOf(r.Object()) }

func metaOf(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(err) // New has refused objects without metadata.
	}
	return m
}

// As is the object in a served version. It may share memory with the revision.
func (r *Revision) As(res *kinds.Resource) runtime.Object {
	obj := r.Object()
	if u, ok := obj.(*unstructured.Unstructured); ok {
		// A definition can come to store another version than this object's.
		if u.GetAPIVersion() == res.GVK.GroupVersion().String() {
			return u
		}
	} else if res == res.Storage {
		return obj
	}
	return convert(obj, res)
}

// CopyAs is the object in a served version, for a caller who may change it.
func (r *Revision) CopyAs(res *kinds.Resource) runtime.Object { return r.As(res).DeepCopyObject() }

// IsSame says whether both are the same state of one object, or both nil.
func (r *Revision) IsSame(other *Revision) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.Key == other.Key && r.Version == other.Version
}

// EqualContent says whether a new revision differs from r in its version only.
func (r *Revision) EqualContent(next *Revision) bool {
	if r.raw != nil {
		return bytes.Equal(r.raw, next.raw)
	}
	next.Meta().SetResourceVersion(r.version())
	return reflect.DeepEqual(r.Object(), next.Object())
}

// EqualSpec says whether next differs from r in nothing that
// metadata.generation counts.
func (r *Revision) EqualSpec(next *Revision) bool {
	if was, ok := r.Object().(*unstructured.Unstructured); ok {
		now, ok := next.Object().(*unstructured.Unstructured)
		return ok && reflect.DeepEqual(specOf(was), specOf(now))
	}
	if _, ok := next.Object().(*discoveryv1.EndpointSlice); ok && !maps.Equal(r.Meta().GetLabels(), next.Meta().GetLabels()) {
		return false // An EndpointSlice's labels count, too.
	}
	return bytes.Equal(specBytes(r.raw, r.storage.Status), specBytes(next.raw, r.storage.Status))
}

func specOf(u *unstructured.Unstructured) map[string]any {
	content := maps.Clone(u.Object)
	maps.DeleteFunc(content, func(k string, _ any) bool {
		return k == "apiVersion" || k == "kind" || k == "metadata" || k == "status"
	})
	return content
}

// ShallowCopy copies an object and its metadata struct, and shares the rest.
func ShallowCopy(obj runtime.Object) runtime.Object {
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

// ToStorage turns an object of a served version into one of the storage
// version, as it is stored: a typed object without TypeMeta.
func ToStorage(obj runtime.Object, res *kinds.Resource) runtime.Object {
	if res != res.Storage {
		obj = convert(obj, res.Storage)
	}
	gvk := res.Storage.GVK
	if res.Typed {
		gvk = schema.GroupVersionKind{}
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj
}
