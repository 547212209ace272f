package controlplane

import (
	"fmt"
	"strconv"
	"sync"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// encoded is a resource marshalled once. It is shared by all responses that
// carry it and never altered.
type encoded struct {
	name    string
	version string // of the content: equal bytes have equal versions
	wrapped *discovery.Resource
}

// encoder marshals resources. It keeps the first error, so that generators
// need not pass on errors that only invalid UTF-8 could cause.
type encoder struct{ err error }

func (enc *encoder) encode(t xdsType, name string, message proto.Message) *encoded {
	// Deterministic order makes the version a function of the content.
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil && enc.err == nil {
		enc.err = fmt.Errorf("encode %s %q: %w", t.label(), name, err)
	}
	version := strconv.FormatUint(xxh3.Hash(value), 16)
	return &encoded{
		name:    name,
		version: version,
		wrapped: &discovery.Resource{
			Name: name, Version: version, Resource: &anypb.Any{TypeUrl: t.url(), Value: value},
		},
	}
}

// pack wraps an extension's configuration.
func (enc *encoder) pack(message proto.Message) *anypb.Any {
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil && enc.err == nil {
		enc.err = fmt.Errorf("encode %s: %w", message.ProtoReflect().Descriptor().FullName(), err)
	}
	return &anypb.Any{
		TypeUrl: "type.googleapis.com/" + string(message.ProtoReflect().Descriptor().FullName()),
		Value:   value,
	}
}

// bundle is a list of resources, ready to be put into any number of responses.
// It is immutable once it has been used; the encodings are made on demand.
type bundle struct {
	resources []*discovery.Resource
	bytes     int // of the resources' values

	sotw, delta lazyBytes
}

// lazyBytes is the resources field of a response.
type lazyBytes struct {
	once sync.Once
	data []byte
}

func newBundle(lists ...[]*encoded) *bundle {
	var n int
	for _, list := range lists {
		n += len(list)
	}
	b := &bundle{resources: make([]*discovery.Resource, 0, n)}
	for _, list := range lists {
		for _, e := range list {
			b.add(e)
		}
	}
	return b
}

func (b *bundle) add(e *encoded) { b.append(e.wrapped) }

func (b *bundle) append(r *discovery.Resource) {
	b.resources = append(b.resources, r)
	b.bytes += len(r.GetResource().GetValue())
}

// sotwBytes encodes the resources as those of a DiscoveryResponse.
func (b *bundle) sotwBytes() []byte {
	return b.sotw.encode(func() proto.Message {
		message := &discovery.DiscoveryResponse{Resources: make([]*anypb.Any, 0, len(b.resources))}
		for _, r := range b.resources {
			message.Resources = append(message.Resources, r.GetResource())
		}
		return message
	})
}

// deltaBytes encodes the resources as those of a DeltaDiscoveryResponse.
func (b *bundle) deltaBytes() []byte {
	return b.delta.encode(func() proto.Message {
		return &discovery.DeltaDiscoveryResponse{Resources: b.resources}
	})
}

func (e *lazyBytes) encode(message func() proto.Message) []byte {
	e.once.Do(func() {
		// What was decoded from bytes or checked by encoder can be encoded.
		e.data, _ = proto.Marshal(message())
	})
	return e.data
}

// newerThan returns the part of b that known, a map of names to versions, does
// not hold already.
func (b *bundle) newerThan(known map[string]string) *bundle {
	if len(known) == 0 {
		return b
	}
	out := &bundle{}
	for _, r := range b.resources {
		if known[r.GetName()] != r.GetVersion() {
			out.append(r)
		}
	}
	return out
}
