// Package wire is gRPC's protobuf codec with a fast path for the two messages
// that are most of the work: responses, whose resources are shared, and SotW
// requests, which repeat the whole subscription with every ACK.
package wire

import (
	"errors"
	"fmt"
	"unicode/utf8"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// ErrMalformed is wrapped by the errors of requests that cannot be decoded.
var ErrMalformed = errors.New("malformed DiscoveryRequest")

// Codec encodes a *Response and decodes a *Request; everything else it leaves to
// the embedded codec.
type Codec struct{ encoding.CodecV2 }

// NewCodec returns a codec on top of gRPC's own.
func NewCodec() Codec { return Codec{encoding.GetCodecV2(protocodec.Name)} }

// Response is a discovery response. The resources are not in the message but
// follow it as shared bytes: a protobuf message may be encoded in parts, each
// holding some of its fields (Protocol Buffers, "Encoding").
type Response struct {
	Message   proto.Message // all fields but the resources
	Resources []byte        // the encoded field of the resources
}

// Request is a SotW request. Its resource names are left out of the message:
// they are resolved to a set that equal subscriptions share.
type Request struct {
	Interner *xds.Interner // set by the receiver
	Message  *discovery.DiscoveryRequest
	Names    *xds.NameSet
}

// namesField is the number of DiscoveryRequest.resource_names.
const namesField protowire.Number = 3

// Marshal encodes a message of any type.
func (c Codec) Marshal(v any) (mem.BufferSlice, error) {
	response, ok := v.(*Response)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	message, err := proto.Marshal(response.Message)
	if err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	data := mem.BufferSlice{mem.SliceBuffer(message)}
	if len(response.Resources) > 0 {
		data = append(data, mem.SliceBuffer(response.Resources))
	}
	return data, nil
}

// Unmarshal decodes a message of any type.
func (c Codec) Unmarshal(data mem.BufferSlice, v any) error {
	request, ok := v.(*Request)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	return request.parse(buffer.ReadOnlyData())
}

// parse hashes the names in place and makes no strings of them: for an ACK, the
// set is known already.
func (r *Request) parse(data []byte) error {
	var others []byte // all fields but the names
	var hash xds.NameHash
	for rest := data; len(rest) > 0; {
		field, name, err := firstField(rest)
		if err != nil {
			return err
		}
		rest = rest[len(field):]
		if name != nil {
			r.Interner.AddTo(&hash, name)
		} else {
			others = append(others, field...)
		}
	}
	r.Message = &discovery.DiscoveryRequest{}
	err := proto.Unmarshal(others, r.Message)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	r.Names, err = r.Interner.Get(hash, func() ([]string, error) { return namesOf(data) })
	return err
}

// firstField returns the first field of an encoded request, and the name that
// it holds, nil if it is another field.
func firstField(data []byte) (field, name []byte, err error) {
	number, kind, n := protowire.ConsumeField(data)
	if n < 0 {
		return nil, nil, fmt.Errorf("%w: %w", ErrMalformed, protowire.ParseError(n))
	}
	if number == namesField && kind == protowire.BytesType {
		_, _, tag := protowire.ConsumeTag(data)
		name, _ = protowire.ConsumeBytes(data[tag:n])
	}
	return data[:n], name, nil
}

// namesOf returns the resource names of an encoded request.
func namesOf(data []byte) ([]string, error) {
	var names []string
	for len(data) > 0 {
		field, name, err := firstField(data)
		if err != nil {
			return nil, err
		}
		if !utf8.Valid(name) {
			return nil, fmt.Errorf("%w: a resource name is not UTF-8", ErrMalformed)
		}
		if name != nil {
			names = append(names, string(name))
		}
		data = data[len(field):]
	}
	return names, nil
}
