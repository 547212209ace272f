package object

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
)

// Format is an encoding of an object on the wire.
type Format struct {
	Proto   bool // protobuf; otherwise JSON
	Partial bool // the metadata alone, as a PartialObjectMetadata
}

// Encoded is a revision in one version and format.
type Encoded struct {
	Data []byte // the whole object
	Item []byte // what stands for it in a list

	resource *kinds.Resource
	format   Format
}

// Encode returns the revision in a version and format, made once and then
// shared. Callers must not change it.
func (r *Revision) Encode(res *kinds.Resource, f Format) (Encoded, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.encodedLocked(res, f); ok {
		return e, nil
	}
	e, err := r.encode(res, f)
	if err == nil {
		r.encoded = append(r.encoded, e)
	}
	return e, err
}

// EncodeOnce is Encode for a list. Lists are rare and long, so what they encode
// is not kept.
func (r *Revision) EncodeOnce(res *kinds.Resource, f Format) (Encoded, error) {
	r.mu.Lock()
	e, ok := r.encodedLocked(res, f)
	r.mu.Unlock()
	if ok {
		return e, nil
	}
	return r.encode(res, f)
}

func (r *Revision) encodedLocked(res *kinds.Resource, f Format) (Encoded, bool) {
	for _, e := range r.encoded {
		if e.resource == res && e.format == f {
			return e, true
		}
	}
	return Encoded{}, false
}

func (r *Revision) encode(res *kinds.Resource, f Format) (Encoded, error) {
	var e Encoded
	var err error
	switch {
	case f.Partial:
		m := r.Meta()
		if a, ok := m.(metav1.ObjectMetaAccessor); ok {
			m = a.GetObjectMeta()
		}
		e, err = encodeObject(meta.AsPartialObjectMetadata(m), partialKind(), f.Proto)
	case f.Proto && r.raw != nil && res == res.Storage:
		e = protoEnvelope(res.GVK, withVersion(r.raw, r.version()))
	default:
		e, err = encodeObject(r.As(res), res.GVK, f.Proto)
	}
	if err != nil {
		return e, fmt.Errorf("encode %s %v: %w", res.GVK, r.Key, err)
	}
	e.resource, e.format = res, f
	return e, nil
}

// Encode encodes what is not stored: a Status, the object of a bookmark.
func Encode(obj runtime.Object, gvk schema.GroupVersionKind, proto bool) ([]byte, error) {
	e, err := encodeObject(obj, gvk, proto)
	return e.Data, err
}

// encodeObject encodes a typed object, whose TypeMeta is empty or gvk, or an
// untyped one.
func encodeObject(obj runtime.Object, gvk schema.GroupVersionKind, proto bool) (Encoded, error) {
	if proto {
		m, ok := obj.(protoMarshaler)
		if !ok {
			return Encoded{}, errors.New("the kind has no protobuf encoding")
		}
		raw, err := m.Marshal()
		return protoEnvelope(gvk, raw), err
	}
	_, untyped := obj.(*unstructured.Unstructured)
	if p, ok := obj.(*metav1.PartialObjectMetadata); ok {
		p.SetGroupVersionKind(gvk)
		untyped = true // Its list, too, has items of many kinds, which name theirs.
	}
	data, err := json.Marshal(obj)
	if err != nil || untyped {
		return Encoded{Data: data, Item: data}, err
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	head := `{"kind":"` + kind + `","apiVersion":"` + apiVersion + `",`
	full := make([]byte, 0, len(head)+len(data))
	full = append(append(full, head...), data[1:]...)
	return Encoded{Data: full, Item: data}, nil
}

// WriteList writes a list of encoded objects at a version, in their format.
func WriteList(w io.Writer, res *kinds.Resource, f Format, version uint64, items []Encoded) error {
	const buffer = 64 << 10
	out := bufio.NewWriterSize(w, buffer) // It keeps its first error.
	gvk := res.GVK.GroupVersion().WithKind(res.ListKind)
	if f.Partial {
		gvk = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList")
	}
	rv := strconv.FormatUint(version, 10)
	if f.Proto {
		writeProtoList(out, gvk, rv, items)
		return out.Flush()
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	_, _ = out.WriteString(`{"kind":"` + kind + `","apiVersion":"` + apiVersion + `","metadata":{"resourceVersion":"` + rv + `"},"items":[`)
	for i, it := range items {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.Write(it.Item)
	}
	_, _ = out.WriteString("]}\n")
	return out.Flush()
}

// EncodeBookmark encodes the object of a bookmark: a kind and a version. The
// first one after the initial events of a WatchList says so.
func EncodeBookmark(res *kinds.Resource, f Format, version uint64, endsInitial bool) ([]byte, error) {
	p := &metav1.PartialObjectMetadata{}
	p.ResourceVersion = strconv.FormatUint(version, 10)
	if endsInitial {
		p.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	gvk := res.GVK
	if f.Partial {
		gvk = partialKind()
	}
	return Encode(p, gvk, f.Proto)
}

func partialKind() schema.GroupVersionKind {
	return metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
}
