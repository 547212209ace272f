package adsconn

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/xdsbench/xdsbench/event"
)

// Message is one received message.
type Message struct {
	Data mem.BufferSlice // as it came
	// Received is when it was whole. Arrived is when the last bytes read before that
	// had reached this machine, 0 if the kernel did not tell.
	Received, Arrived event.Time
}

// Free gives the message's buffers back.
func (m *Message) Free() {
	m.Data.Free()
	m.Data = nil
}

// Request is one message to send, already encoded.
type Request struct {
	pieces mem.BufferSlice
	space  [2]mem.Buffer // for pieces
}

// NewRequest returns a request of one or two pieces that are sent one after the
// other, so that a long list of names is encoded once for all. second may be nil.
func NewRequest(first, second mem.Buffer) *Request {
	r := new(Request)
	r.pieces = append(r.space[:0], first)
	if second != nil {
		r.pieces = append(r.pieces, second)
	}
	return r
}

// Size is the length of the message in bytes.
func (r *Request) Size() int { return r.pieces.Len() }

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
	return r.pieces, nil
}

// Unmarshal fills a *Message, which the receiver must free.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*Message)
	if !ok {
		return fmt.Errorf("cannot receive into a %T: want a *Message", v)
	}
	m.Arrived = event.Time(c.meter.last.Load())
	m.Received = c.meter.clock.Now()
	data.Ref() // grpc-go frees its own reference
	m.Data = data
	return nil
}
