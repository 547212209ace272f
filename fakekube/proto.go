package fakekube

import (
	"encoding/binary"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// errNotProto says that a kind has no protobuf encoding, as custom resources.
var errNotProto = errors.New("the kind has no protobuf encoding")

// protoMarshaler is what the generated Kubernetes types implement.
type protoMarshaler interface{ Marshal() ([]byte, error) }

// Field numbers of the messages written here by hand. Every generated
// Kubernetes object has its metadata in field 1, and every list its metadata
// in 1 and its items in 2; see runtime.Unknown for the envelope and
// metav1.WatchEvent for the event.
const (
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

// protoMagic opens every protobuf object on the wire.
const protoMagic = "k8s\x00"

// protoTypeMeta encodes runtime.TypeMeta.
func protoTypeMeta(apiVersion, kind string) []byte {
	b := appendBytes(nil, 1, []byte(apiVersion))
	return appendBytes(b, 2, []byte(kind))
}

func appendBytes(b []byte, field protowire.Number, data []byte) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendBytes(b, data)
}

// protoBody wraps a message in the envelope that names its type.
func protoBody(typeMeta, raw []byte) body {
	b := make([]byte, 0, len(protoMagic)+len(typeMeta)+len(raw)+2+2*binary.MaxVarintLen32)
	b = append(b, protoMagic...)
	b = appendBytes(b, fieldTypeMeta, typeMeta)
	b = appendBytes(b, fieldRaw, raw)
	return body{data: b, item: b[len(b)-len(raw):]}
}

// withVersion adds a resourceVersion to an object's message: a second value
// of a field replaces the first, so it is put at the end of the metadata.
func withVersion(raw []byte, version string) []byte {
	meta, rest, ok := cutMetadata(raw)
	if !ok {
		return raw
	}
	added := appendBytes(nil, fieldResourceVersion, []byte(version))
	b := make([]byte, 0, len(raw)+len(added)+binary.MaxVarintLen32)
	b = protowire.AppendTag(b, fieldMetadata, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(meta)+len(added)))
	b = append(append(b, meta...), added...)
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

// appendProtoList appends a list in its envelope.
func appendProtoList(typeMeta []byte, version string, items []body) []byte {
	size := len(typeMeta) + len(version) + 64
	for _, it := range items {
		size += len(it.item) + 1 + binary.MaxVarintLen32
	}
	list := make([]byte, 0, size)
	list = appendBytes(list, fieldMetadata, appendBytes(nil, fieldListVersion, []byte(version)))
	for _, it := range items {
		list = appendBytes(list, fieldItems, it.item)
	}
	return protoBody(typeMeta, list).data
}

// protoEventHead is what goes before an encoded object in a watch stream: the
// frame's length and the WatchEvent up to the object's bytes.
func protoEventHead(eventType string, object []byte) []byte {
	inner := protowire.SizeTag(fieldExtensionRaw) + protowire.SizeBytes(len(object))
	b := make([]byte, 4, 64)
	b = appendBytes(b, fieldEventType, []byte(eventType))
	b = protowire.AppendTag(b, fieldEventObject, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(inner))
	b = protowire.AppendTag(b, fieldExtensionRaw, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(object)))
	binary.BigEndian.PutUint32(b, uint32(len(b)-4+len(object)))
	return b
}
