package controlplane

import (
	"errors"
	"fmt"
	"unicode/utf8"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// wireCodec is gRPC's codec for protobuf, with a short way for the two
// messages that are most of the work: responses, whose resources are shared,
// and SotW requests, which repeat the whole subscription with every ACK.
type wireCodec struct{ encoding.CodecV2 }

// outgoing is a response. The resources are in neither of its messages' fields
// but follow as shared bytes: a protobuf message may be encoded in parts, each
// holding some of its fields (Protocol Buffers, "Encoding").
type outgoing struct {
	head   proto.Message // all fields but the resources
	shared []byte        // the field of the resources
}

// incoming is a SotW request. Its names are not put into the message, but
// resolved to a set that equal subscriptions share.
type incoming struct {
	interner *interner
	request  *discovery.DiscoveryRequest
	names    *nameSet // one use of it
}

var errBadRequest = errors.New("malformed DiscoveryRequest")

// namesField is the number of DiscoveryRequest.resource_names.
const namesField protowire.Number = 3

func (c wireCodec) Marshal(v any) (mem.BufferSlice, error) {
	out, ok := v.(*outgoing)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	head, err := proto.Marshal(out.head)
	if err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	data := mem.BufferSlice{mem.SliceBuffer(head)}
	if len(out.shared) > 0 {
		data = append(data, mem.SliceBuffer(out.shared))
	}
	return data, nil
}

func (c wireCodec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*incoming)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	return in.parse(buffer.ReadOnlyData())
}

// parse hashes the names where they are, without making strings of them: for
// an ACK, the set is known.
func (in *incoming) parse(data []byte) error {
	var rest []byte
	h, err := walk(data, func(h *nameHash, number protowire.Number, field, value []byte) {
		if number == namesField {
			in.interner.add(h, value)
			return
		}
		rest = append(rest, field...)
	})
	if err != nil {
		return err
	}
	in.request = &discovery.DiscoveryRequest{}
	if err := proto.Unmarshal(rest, in.request); err != nil {
		return fmt.Errorf("%w: %w", errBadRequest, err)
	}
	in.names, err = in.interner.acquire(h, func() ([]string, error) { return namesOf(data) })
	return err
}

// walk calls visit with each top-level field, whole and, if it is
// length-delimited, its value.
func walk(data []byte, visit func(h *nameHash, number protowire.Number, field, value []byte)) (nameHash, error) {
	var h nameHash
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return h, fmt.Errorf("%w: %w", errBadRequest, protowire.ParseError(n))
		}
		m := protowire.ConsumeFieldValue(number, kind, data[n:])
		if m < 0 {
			return h, fmt.Errorf("%w: %w", errBadRequest, protowire.ParseError(m))
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data[n:])
			visit(&h, number, data[:n+m], value)
		} else {
			visit(&h, 0, data[:n+m], nil)
		}
		data = data[n+m:]
	}
	return h, nil
}

// namesOf returns the resource names of an encoded request.
func namesOf(data []byte) ([]string, error) {
	var names []string
	valid := true
	_, err := walk(data, func(_ *nameHash, number protowire.Number, _, value []byte) {
		if number == namesField {
			valid = valid && utf8.Valid(value)
			names = append(names, string(value))
		}
	})
	if err == nil && !valid {
		err = fmt.Errorf("%w: a resource name is not UTF-8", errBadRequest)
	}
	return names, err
}
