package fakeproxy

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

// message is a response taken apart. Its slices point into the frame.
type message struct {
	version, nonce, url []byte
	resources           [][]byte
	hashes              []key // of resources
	removed             [][]byte
	sum                 key // of everything but version and nonce
}

// messagePool keeps the slices of messages for reuse: a stream holds none of
// them between two responses.
type messagePool struct{ pool sync.Pool }

func (p *messagePool) get() *message {
	if m, ok := p.pool.Get().(*message); ok {
		return m
	}
	return new(message)
}

func (p *messagePool) put(m *message) {
	clear(m.resources)
	clear(m.removed)
	*m = message{resources: m.resources[:0], hashes: m.hashes[:0], removed: m.removed[:0]}
	p.pool.Put(m)
}

// parse walks the top-level fields of a response once, hashing each resource.
func (m *message) parse(b []byte, v xds.Variant) error {
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

func (m *message) field(num protowire.Number, value []byte, v xds.Variant) error {
	switch {
	case num == fieldVersion:
		m.version = value
	case num == fieldTypeURL:
		m.url = value
	case num == fieldNonce:
		m.nonce = value
	case num == fieldResources:
		h := hashBytes(value)
		m.resources = append(m.resources, value)
		m.hashes = append(m.hashes, h)
		m.sum = m.sum.plus(h)
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

func (m *message) remove(name []byte) {
	m.removed = append(m.removed, name)
	m.sum = m.sum.plus(hashBytes(name).mixed(removedMeaning))
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
