package adsconn

import (
	"bytes"
	"encoding/binary"
	"io"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/mem"
)

// frameHeader is the size of an HTTP/2 frame's header, which begins with the
// length of the payload in three bytes (RFC 9113, 4.1).
const frameHeader = 9

// frameWriter writes HTTP/2 frames, each as soon as it is whole and with one
// write. grpc-go's own buffer does not: it lets other goroutines run before it
// empties itself, behind thousands of others after a push, so that an ACK would
// leave long after Envoy's; and what is larger than the buffer takes many writes.
// It is used by one goroutine at a time.
type frameWriter struct {
	to   io.Writer
	pool mem.BufferPool

	part *[]byte // the beginning of a frame; nil between frames
	have int     // bytes of it
	raw  bool    // what is written are no frames: it is passed on as it comes
}

// Write takes a frame, or a part of one that begins with its header. What it
// keeps it copies. The frames before it have been written.
func (w *frameWriter) Write(b []byte) (int, error) {
	if w.raw || w.part == nil && bytes.HasPrefix([]byte(http2.ClientPreface), b) {
		return w.to.Write(b)
	}
	if w.part != nil {
		return w.more(b)
	}
	size := frameSize(b)
	if size > len(b) {
		w.part = w.pool.Get(size)
		w.have = copy(*w.part, b)
		return len(b), nil
	}
	w.raw = size < len(b)
	return w.to.Write(b)
}

// more adds to a frame that has begun, and writes it once it is whole.
func (w *frameWriter) more(b []byte) (int, error) {
	n := copy((*w.part)[w.have:], b)
	w.have += n
	if w.have < len(*w.part) {
		return n, nil
	}
	_, err := w.to.Write(*w.part)
	w.pool.Put(w.part)
	w.part, w.have = nil, 0
	if err == nil && n < len(b) {
		w.raw = true
		_, err = w.to.Write(b[n:])
	}
	return len(b), err
}

// frameSize returns the size of the frame that b begins with, 0 if its header is
// not whole.
func frameSize(b []byte) int {
	if len(b) < frameHeader {
		return 0
	}
	return frameHeader + int(binary.BigEndian.Uint32(b)>>8)
}
