package fakeproxy

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/xdsbench/xdsbench/event"
)

// frame is one received message: its bytes as they came, when they were whole, and
// when the last bytes read before that had arrived.
type frame struct {
	data             mem.BufferSlice
	received, socket event.Time
}

func (f *frame) free() {
	f.data.Free()
	f.data = nil
}

// request is one message to send, already encoded. The pieces are sent one
// after the other, so that a long list of names is encoded once for all.
type request struct {
	pieces mem.BufferSlice
	space  [2]mem.Buffer // for pieces
}

func (r *request) size() int { return r.pieces.Len() }

// rawCodec hands over message bytes without decoding them, and stamps each
// message as soon as it is whole.
type rawCodec struct{ meter *meter }

var _ encoding.CodecV2 = rawCodec{}

// Name makes the content type that of protobuf.
func (rawCodec) Name() string { return "proto" }

// Marshal returns the bytes of a *request.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	r, ok := v.(*request)
	if !ok {
		return nil, fmt.Errorf("cannot send a %T: want a *request", v)
	}
	return r.pieces, nil
}

// Unmarshal fills a *frame, which the receiver must free.
func (c rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("cannot receive into a %T: want a *frame", v)
	}
	f.socket = event.Time(c.meter.last.Load())
	f.received = c.meter.clock.Now()
	data.Ref() // grpc-go frees its own reference
	f.data = data
	return nil
}
