package controlplane

import (
	"fmt"
	"strconv"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// encoded is a resource marshalled once, in the wrappings of both variants.
// It is shared by all responses that carry it and never altered.
type encoded struct {
	name    string
	version string // of the content: equal bytes have equal versions
	any     *anypb.Any
	delta   *discovery.Resource
}

func (e *encoded) size() int { return len(e.any.GetValue()) }

// encoder marshals resources. It keeps the first error, so that generators
// need not pass on errors that only invalid UTF-8 could cause.
type encoder struct{ err error }

func (enc *encoder) encode(t xdsType, name string, message proto.Message) *encoded {
	// Deterministic order makes the version a function of the content.
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil && enc.err == nil {
		enc.err = fmt.Errorf("encode %s %q: %w", t.label(), name, err)
	}
	wrapped := &anypb.Any{TypeUrl: t.url(), Value: value}
	version := strconv.FormatUint(xxh3.Hash(value), 16)
	return &encoded{
		name:    name,
		version: version,
		any:     wrapped,
		delta:   &discovery.Resource{Name: name, Version: version, Resource: wrapped},
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

// bundle is a list of resources in both wrappings, ready to be put into any
// number of responses.
type bundle struct {
	anys   []*anypb.Any
	deltas []*discovery.Resource
	bytes  int // of the resources' values
}

func newBundle(lists ...[]*encoded) *bundle {
	var n int
	for _, list := range lists {
		n += len(list)
	}
	b := &bundle{anys: make([]*anypb.Any, 0, n), deltas: make([]*discovery.Resource, 0, n)}
	for _, list := range lists {
		for _, e := range list {
			b.add(e)
		}
	}
	return b
}

func (b *bundle) add(e *encoded) {
	b.anys = append(b.anys, e.any)
	b.deltas = append(b.deltas, e.delta)
	b.bytes += e.size()
}

// newerThan returns the part of b that known, a map of names to versions, does
// not hold already.
func (b *bundle) newerThan(known map[string]string) *bundle {
	if len(known) == 0 {
		return b
	}
	out := &bundle{}
	for i, r := range b.deltas {
		if known[r.GetName()] != r.GetVersion() {
			out.anys = append(out.anys, b.anys[i])
			out.deltas = append(out.deltas, r)
			out.bytes += len(b.anys[i].GetValue())
		}
	}
	return out
}
