package xds

import (
	"fmt"
	"strconv"
	"sync"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Encoder marshals resources. It keeps the first error, so that generators need
// not return errors that only invalid UTF-8 can cause.
type Encoder struct{ err error }

// Err returns the first error of an encoding.
func (e *Encoder) Err() error { return e.err }

// Encode marshals a resource once for all proxies. Its version is a hash of
// its content: equal bytes have equal versions.
func (e *Encoder) Encode(name string, message proto.Message) *discovery.Resource {
	packed := e.Pack(message)
	version := strconv.FormatUint(xxh3.Hash(packed.GetValue()), 16)
	return &discovery.Resource{Name: name, Version: version, Resource: packed}
}

// Pack wraps a message, such as the configuration of a filter.
func (e *Encoder) Pack(message proto.Message) *anypb.Any {
	packed := &anypb.Any{}
	// Deterministic order makes the version a function of the content.
	err := anypb.MarshalFrom(packed, message, proto.MarshalOptions{Deterministic: true})
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("encode %s: %w", message.ProtoReflect().Descriptor().FullName(), err)
	}
	return packed
}

// Bundle is a list of resources that any number of responses can carry. It is
// immutable once a response has it; it is encoded on demand, once.
type Bundle struct {
	Resources []*discovery.Resource
	Bytes     int // of the resources' values

	sotwOnce, deltaOnce sync.Once
	sotw, delta         []byte // the resources field of an encoded response
}

// NewBundle returns a bundle of all lists.
func NewBundle(lists ...[]*discovery.Resource) *Bundle {
	var n int
	for _, list := range lists {
		n += len(list)
	}
	b := &Bundle{Resources: make([]*discovery.Resource, 0, n)}
	for _, list := range lists {
		b.Add(list...)
	}
	return b
}

// Add appends resources to a bundle that has not been used yet.
func (b *Bundle) Add(resources ...*discovery.Resource) {
	b.Resources = append(b.Resources, resources...)
	for _, r := range resources {
		b.Bytes += len(r.GetResource().GetValue())
	}
}

// Filter returns a bundle of the resources for which keep is true.
func (b *Bundle) Filter(keep func(*discovery.Resource) bool) *Bundle {
	out := &Bundle{}
	for _, r := range b.Resources {
		if keep(r) {
			out.Add(r)
		}
	}
	return out
}

// NewerThan returns the resources whose versions differ from those in known, a
// map of names to versions.
func (b *Bundle) NewerThan(known map[string]string) *Bundle {
	if len(known) == 0 {
		return b
	}
	return b.Filter(func(r *discovery.Resource) bool { return known[r.GetName()] != r.GetVersion() })
}

// SotW encodes the resources as those of a DiscoveryResponse.
func (b *Bundle) SotW() []byte {
	b.sotwOnce.Do(func() {
		message := &discovery.DiscoveryResponse{Resources: make([]*anypb.Any, 0, len(b.Resources))}
		for _, r := range b.Resources {
			message.Resources = append(message.Resources, r.GetResource())
		}
		b.sotw, _ = proto.Marshal(message) // cannot fail: an Encoder has checked all parts
	})
	return b.sotw
}

// Delta encodes the resources as those of a DeltaDiscoveryResponse.
func (b *Bundle) Delta() []byte {
	b.deltaOnce.Do(func() {
		b.delta, _ = proto.Marshal(&discovery.DeltaDiscoveryResponse{Resources: b.Resources}) // as in SotW
	})
	return b.delta
}
