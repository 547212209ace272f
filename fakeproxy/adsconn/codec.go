package adsconn

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/xdsbench/xdsbench/event"
)

// codec hands over message bytes without decoding them, and stamps each
// message as soon as it is whole.
type codec struct{ meter *meter }

var _ encoding.CodecV2 = codec{}

// Name makes the content type that of protobuf.
func (codec) Name() string { return "proto" }

// Marshal returns the bytes of a *Request.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	r, ok := v.(*Request)
	if !ok {
		return nil, fmt.Errorf("cannot send a %T: want a *Request", v)
	}
	if r.pieces[1] == nil {
		return r.pieces[:1], nil
	}
	return r.pieces[:], nil
}

// Unmarshal fills a *Message, whose data the receiver must free.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*Message)
	if !ok {
		return fmt.Errorf("cannot receive into a %T: want a *Message", v)
	}
	m.Arrived = event.Time(c.meter.last.Load())
	m.Received = c.meter.clock.Now()
	data.Ref() // grpc-go frees its own reference
	m.data, m.Pieces = data, m.Pieces[:0]
	for _, b := range data {
		m.Pieces = append(m.Pieces, b.ReadOnlyData())
	}
	return nil
}
