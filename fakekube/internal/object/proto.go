package object

import (
	"bufio"
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// protoMarshaler is what the generated Kubernetes types implement.
type protoMarshaler interface{ Marshal() ([]byte, error) }

// Field numbers of the messages that are put together here, so that an object is
// marshalled once for all lists and watches. Every generated Kubernetes object
// has its metadata in field 1, and every list its metadata in 1 and its items in
// 2; see runtime.Unknown for the envelope and metav1.WatchEvent for the event.
const (
	fieldAPIVersion      = 1 // runtime.TypeMeta
	fieldKind            = 2 // runtime.TypeMeta
	fieldTypeMeta        = 1 // runtime.Unknown
	fieldRaw             = 2 // runtime.Unknown
	fieldMetadata        = 1
	fieldItems           = 2
	fieldStatus          = 3
	fieldResourceVersion = 6 // ObjectMeta
	fieldListVersion     = 2 // ListMeta
	fieldEventType       = 1 // WatchEvent
	fieldEventObject     = 2 // WatchEvent
	fieldExtensionRaw    = 1 // runtime.RawExtension
)

func appendBytes[T string | []byte](b []byte, field protowire.Number, data T) []byte {
	return append(appendLength(b, field, len(data)), data...)
}

// appendLength opens a field of that many bytes.
func appendLength(b []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(size))
}

// appendEnvelope opens the envelope of a message of that size: the magic number
// of Kubernetes' protobuf and a runtime.Unknown, which names the type.
func appendEnvelope(b []byte, gvk schema.GroupVersionKind, size int) []byte {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	b = append(b, "k8s\x00"...)
	b = appendLength(b, fieldTypeMeta, protowire.SizeTag(fieldAPIVersion)+protowire.SizeBytes(len(apiVersion))+
		protowire.SizeTag(fieldKind)+protowire.SizeBytes(len(kind)))
	b = appendBytes(b, fieldAPIVersion, apiVersion)
	b = appendBytes(b, fieldKind, kind)
	return appendLength(b, fieldRaw, size)
}

// envelopeSize is room for what appendEnvelope adds, but for the names.
const envelopeSize = 4 + 4 + 2*binary.MaxVarintLen32

func protoEnvelope(gvk schema.GroupVersionKind, raw []byte) Encoded {
	b := make([]byte, 0, envelopeSize+len(gvk.Group)+len(gvk.Version)+len(gvk.Kind)+len(raw)+1)
	b = append(appendEnvelope(b, gvk, len(raw)), raw...)
	return Encoded{Data: b, Item: b[len(b)-len(raw):]}
}

// withVersion adds a resourceVersion to an object's message: a second value
// of a field replaces the first, so it is put at the end of the metadata.
func withVersion(raw []byte, version string) []byte {
	meta, rest, ok := cutMetadata(raw)
	if !ok {
		return raw
	}
	added := protowire.SizeTag(fieldResourceVersion) + protowire.SizeBytes(len(version))
	b := make([]byte, 0, len(raw)+added+binary.MaxVarintLen32)
	b = appendLength(b, fieldMetadata, len(meta)+added)
	b = appendBytes(append(b, meta...), fieldResourceVersion, version)
	return append(b, rest...)
}

// cutMetadata splits an object's message, whose first field is its metadata.
func cutMetadata(raw []byte) (meta, rest []byte, ok bool) {
	num, typ, n := protowire.ConsumeTag(raw)
	if n < 0 || num != fieldMetadata || typ != protowire.BytesType {
		return nil, nil, false
	}
	meta, m := protowire.ConsumeBytes(raw[n:])
	if m < 0 {
		return nil, nil, false
	}
	return meta, raw[n+m:], true
}

// specBytes is an object's message without metadata and, if the kind has the
// subresource, without status: what metadata.generation counts changes of.
func specBytes(raw []byte, status bool) []byte {
	_, rest, ok := cutMetadata(raw)
	if !ok {
		return raw
	}
	if !status {
		return rest
	}
	for at := 0; at < len(rest); {
		num, _, n := protowire.ConsumeField(rest[at:])
		if n < 0 {
			return rest
		}
		if num == fieldStatus {
			return append(rest[:at:at], rest[at+n:]...)
		}
		at += n
	}
	return rest
}

func writeProtoList(w *bufio.Writer, gvk schema.GroupVersionKind, version string, items []Encoded) {
	head := appendBytes(nil, fieldMetadata, appendBytes(nil, fieldListVersion, version))
	size := len(head)
	for _, it := range items {
		size += protowire.SizeTag(fieldItems) + protowire.SizeBytes(len(it.Item))
	}
	_, _ = w.Write(append(appendEnvelope(nil, gvk, size), head...))
	var field []byte
	for _, it := range items {
		field = appendLength(field[:0], fieldItems, len(it.Item))
		_, _ = w.Write(field)
		_, _ = w.Write(it.Item)
	}
}

// WatchEventHead is what goes before an object's protobuf in a watch stream: the
// frame's length, and the WatchEvent up to the object's bytes.
func WatchEventHead(eventType string, objectSize int) []byte {
	b := make([]byte, 4, 64)
	b = appendBytes(b, fieldEventType, eventType)
	b = appendLength(b, fieldEventObject, protowire.SizeTag(fieldExtensionRaw)+protowire.SizeBytes(objectSize))
	b = appendLength(b, fieldExtensionRaw, objectSize)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4+objectSize))
	return b
}
