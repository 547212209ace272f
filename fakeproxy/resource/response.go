package resource

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsbench/xdsbench/event/xds"
)

// Field numbers of DiscoveryResponse and DeltaDiscoveryResponse that both
// share, and those that only Delta has.
const (
	fieldVersion      = 1
	fieldResources    = 2
	fieldTypeURL      = 4
	fieldNonce        = 5
	fieldRemoved      = 6 // Delta: removed_resources; SotW: control_plane.
	fieldRemovedNames = 8 // Delta: removed_resource_names.
)

// Response is a response taken apart. Its slices point into the frame.
type Response struct {
	Version, Nonce, URL []byte
	Resources, Removed  [][]byte
	// Sum identifies everything but version and nonce.
	Sum Key

	hashes []Key // of Resources
}

// ResponsePool keeps the slices of responses for reuse: a stream holds none of
// them between two responses.
type ResponsePool struct{ pool sync.Pool }

// Get returns an empty response.
func (p *ResponsePool) Get() *Response {
	if m, ok := p.pool.Get().(*Response); ok {
		return m
	}
	return new(Response)
}

// Put takes a response back; nobody may use it any more.
func (p *ResponsePool) Put(m *Response) {
	clear(m.Resources)
	clear(m.Removed)
	*m = Response{Resources: m.Resources[:0], hashes: m.hashes[:0], Removed: m.Removed[:0]}
	p.pool.Put(m)
}

// Parse walks the top-level fields of a response once, hashing each resource.
func (m *Response) Parse(b []byte, v xds.Variant) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("response does not parse: %w", protowire.ParseError(n))
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return fmt.Errorf("response field %d does not parse: %w", num, protowire.ParseError(n))
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return fmt.Errorf("response field %d does not parse: %w", num, protowire.ParseError(n))
		}
		b = b[n:]
		if err := m.field(num, value, v); err != nil {
			return err
		}
	}
	return nil
}

func (m *Response) field(num protowire.Number, value []byte, v xds.Variant) error {
	switch {
	case num == fieldVersion:
		m.Version = value
	case num == fieldTypeURL:
		m.URL = value
	case num == fieldNonce:
		m.Nonce = value
	case num == fieldResources:
		h := hashBytes(value)
		m.Resources = append(m.Resources, value)
		m.hashes = append(m.hashes, h)
		m.Sum = m.Sum.plus(h)
	case num == fieldRemoved && v == xds.Delta:
		m.remove(value)
	case num == fieldRemovedNames && v == xds.Delta:
		name, err := bytesField(value, 1)
		if err != nil {
			return fmt.Errorf("removed_resource_names: %w", err)
		}
		m.remove(name)
	}
	return nil
}

func (m *Response) remove(name []byte) {
	m.Removed = append(m.Removed, name)
	m.Sum = m.Sum.plus(hashBytes(name).tagged(removedMeaning))
}

// bytesField returns the last value of one length-delimited field of a message.
func bytesField(b []byte, want protowire.Number) ([]byte, error) {
	var found []byte
	err := eachBytes(b, func(num protowire.Number, value []byte) {
		if num == want {
			found = value
		}
	})
	return found, err
}

// eachBytes calls f for each length-delimited field of a message.
func eachBytes(b []byte, f func(protowire.Number, []byte)) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if typ == protowire.BytesType {
			value, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			f(num, value)
			b = b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
	}
	return nil
}
