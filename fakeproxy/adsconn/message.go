package adsconn

import (
	"google.golang.org/grpc/mem"

	"github.com/xdsbench/xdsbench/event"
)

// Message is one received message.
type Message struct {
	Pieces [][]byte // as it came, one after the other
	// Received is when it was whole. Arrived is when the last bytes read before that
	// had reached this machine, 0 if the kernel did not tell.
	Received, Arrived event.Time

	data mem.BufferSlice // of grpc-go, which holds the pieces; nil if it came otherwise
}

// Size is the length of the message in bytes.
func (m *Message) Size() int {
	n := 0
	for _, p := range m.Pieces {
		n += len(p)
	}
	return n
}

// Request is one message to send, already encoded.
type Request struct{ pieces [2]mem.Buffer }

// NewRequest returns a request of one or two pieces that are sent one after the
// other, so that a long list of names is encoded once for all. second may be nil.
func NewRequest(first, second mem.Buffer) *Request {
	return &Request{pieces: [2]mem.Buffer{first, second}}
}

// Size is the length of the message in bytes.
func (r *Request) Size() int {
	n := r.pieces[0].Len()
	if r.pieces[1] != nil {
		n += r.pieces[1].Len()
	}
	return n
}
