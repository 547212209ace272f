package h2

import (
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A place is what the next bytes from the socket are.
type place int

const (
	atHeader    place = iota // of a frame
	atControl                // the payload of a frame that is worked on when it is whole
	atPadLength              // of a DATA frame
	atData
	atSkipped // padding, and the payload of frames that do not matter
)

// reader is what the one goroutine that reads knows.
type reader struct {
	pool *BufferPool
	buf  *[]byte   // the last read; nil if it is done with
	rest []byte    // of buf, not yet looked at
	held []*[]byte // reads before, of which pieces belong to a message
	// pinned says that pieces of buf belong to a message.
	pinned bool

	at      place
	greeted bool // the peer's settings have come
	header  [frameHeaderSize]byte
	have    int    // bytes of header
	payload []byte // of a control frame that comes in parts
	frame   frameHeader
	left    int // bytes to come at this place
	padding int // bytes to skip after the data

	stream *Stream // of the DATA frame; nil if it has ended
	empty  int     // DATA frames without payload so far, one after the other

	block headerBlock

	window int64  // what the peer may send on the connection
	owed   uint32 // what it sent and was not given back
}

// read reads and works until the connection ends, or until got says that nothing more is
// wanted. got is called when a stream has something to tell: a message is whole, or it has
// ended.
func (c *Conn) read(got func(s *Stream) (more bool)) {
	c.in.pool = c.cfg.Buffers.reads
	defer c.in.free()
	err := c.socket.ReadLoop(c.in.pool, func(buf *[]byte, n int) bool {
		c.in.buf, c.in.rest = buf, (*buf)[:n]
		for {
			s, err := c.next()
			switch {
			case err != nil:
				return false
			case s == nil:
				return c.settle()
			case !got(s):
				return false
			}
		}
	})
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.endAll(c.lost(err))
	}
}

// next works through what was read until a stream has something to tell, and returns it;
// nil if there is nothing left. An error is the connection's, which has ended with it.
func (c *Conn) next() (*Stream, error) {
	r := &c.in
	for {
		if len(r.rest) == 0 && !r.atEnd() {
			return nil, nil
		}
		var s *Stream
		var err error
		switch r.at {
		case atHeader:
			s, err = c.atHeader()
		case atControl:
			s, err = c.atControl()
		case atPadLength:
			err = c.atPadLength()
		case atData:
			s = c.atData()
		case atSkipped:
			s = c.atSkipped()
		}
		if s != nil || err != nil {
			return s, err
		}
	}
}

// atEnd reports whether there is something to do that needs no further bytes: to end the
// data of a frame, or the frame.
func (r *reader) atEnd() bool { return r.left == 0 && (r.at == atData || r.at == atSkipped) }

// settle is done when all that was read has been looked at: what has to be written is
// written before the next read. It reports whether there is one to come.
func (c *Conn) settle() bool {
	c.in.drop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pump()
	return c.err == nil
}

// lost returns what a failed read means. Needs mu.
func (c *Conn) lost(err error) error {
	switch {
	case c.closing:
		return errReset
	case errors.Is(err, os.ErrDeadlineExceeded) && !c.greeted:
		return status.Errorf(codes.Unavailable, "the control plane accepted the connection, but sent no HTTP/2 settings within %v", c.cfg.SettingsTimeout)
	case errors.Is(err, io.EOF):
		return status.Error(codes.Unavailable, "the control plane closed the connection"+c.peer.farewell)
	default:
		return status.Error(codes.Unavailable, "connection lost: "+err.Error()+c.peer.farewell)
	}
}

// drop gives the last read back, or keeps it with the message that it has a part of.
func (r *reader) drop() {
	switch {
	case r.buf == nil:
	case r.pinned:
		r.held = append(r.held, r.buf)
	default:
		r.pool.Put(r.buf)
	}
	r.buf, r.rest, r.pinned = nil, nil, false
}

// release gives back what a message had held.
func (r *reader) release() {
	for i, b := range r.held {
		r.pool.Put(b)
		r.held[i] = nil
	}
	const kept = 4
	if r.held = r.held[:0]; cap(r.held) > kept {
		r.held = nil
	}
	if r.pinned = false; len(r.rest) == 0 {
		r.drop()
	}
}

// free gives back everything. Nothing is read any more.
func (r *reader) free() {
	r.pinned = false
	r.drop()
	r.release()
}

// atHeader takes the header of a frame.
func (c *Conn) atHeader() (*Stream, error) {
	r := &c.in
	n := copy(r.header[r.have:], r.rest)
	r.rest, r.have = r.rest[n:], r.have+n
	if !r.greeted {
		if err := c.foreign(r.header[:r.have]); err != nil {
			return nil, err
		}
	}
	if r.have < frameHeaderSize {
		return nil, nil
	}
	r.have = 0
	r.frame = parseFrameHeader(r.header[:])
	r.left, r.padding, r.stream = r.frame.size, 0, nil
	return c.begin(r.frame)
}

// foreign recognises peers that do not speak HTTP/2 by the first bytes they send.
func (c *Conn) foreign(first []byte) error {
	switch {
	case bytes.HasPrefix(first, []byte("HTTP/")):
		return c.breach(http2.ErrCodeProtocol, "it answers in HTTP/1: this is not the port of its ADS server")
	case bytes.HasPrefix(first, []byte{0x15, 0x03}):
		return c.breach(http2.ErrCodeProtocol, "it answers in TLS, and the connection is plain text")
	default:
		return nil
	}
}

// begin decides what to do with a frame, and returns the stream that ended with it.
func (c *Conn) begin(f frameHeader) (*Stream, error) {
	r := &c.in
	switch {
	case !r.greeted && (f.kind != http2.FrameSettings || f.flags.Has(http2.FlagSettingsAck)):
		return nil, c.breach(http2.ErrCodeProtocol, "its first frame is %v, not its settings", f.kind)
	case f.size > maxFrameSize:
		return nil, c.breach(http2.ErrCodeFrameSize, "a %v frame of %d bytes, above the %d that were allowed", f.kind, f.size, maxFrameSize)
	case r.block.open() && (f.kind != http2.FrameContinuation || f.stream != r.block.stream):
		return nil, c.breach(http2.ErrCodeProtocol, "a %v frame within the headers of stream %d", f.kind, r.block.stream)
	}
	r.greeted = true
	switch f.kind {
	case http2.FrameData:
		return c.beginData(f)
	case http2.FrameHeaders, http2.FramePriority, http2.FrameRSTStream, http2.FrameSettings, http2.FramePushPromise,
		http2.FramePing, http2.FrameGoAway, http2.FrameWindowUpdate, http2.FrameContinuation:
		r.at = atControl
		if r.left == 0 { // nothing will be read for it
			r.at = atHeader
			return c.control(f, nil)
		}
	default: // RFC 9113, 5.5: to be ignored
		r.at = atSkipped
	}
	return nil, nil
}

// atControl takes the payload of a frame that is no data.
func (c *Conn) atControl() (*Stream, error) {
	r := &c.in
	n := min(r.left, len(r.rest))
	b := r.rest[:n]
	r.rest, r.left = r.rest[n:], r.left-n
	if r.left > 0 || r.payload != nil {
		r.payload = append(r.payload, b...)
		b = r.payload
	}
	if r.left > 0 {
		return nil, nil
	}
	r.at, r.payload = atHeader, nil
	return c.control(r.frame, b)
}

// beginData takes the header of a DATA frame: all its payload counts for the windows,
// which are given back half by half, as nghttp2 does for Envoy.
func (c *Conn) beginData(f frameHeader) (*Stream, error) {
	r := &c.in
	if f.size > 0 {
		r.empty = 0
	} else if r.empty++; r.empty > maxEmptyFrames {
		return nil, c.breach(http2.ErrCodeEnhanceYourCalm, "%d DATA frames without payload one after the other", r.empty)
	}
	c.mu.Lock()
	s := c.streams[f.stream]
	known := c.wasOpened(f.stream)
	r.window -= int64(f.size)
	r.owed += uint32(f.size)
	if r.owed >= c.cfg.ConnectionWindow/2 {
		c.out.control = appendWindowUpdate(c.out.control, 0, r.owed)
		r.window += int64(r.owed)
		r.owed = 0
	}
	within := s != nil && s.charge(f)
	c.mu.Unlock()
	switch {
	case !known:
		return nil, c.breach(http2.ErrCodeProtocol, "DATA for stream %d, which nobody opened", f.stream)
	case r.window < 0:
		return nil, c.breach(http2.ErrCodeFlowControl, "%d bytes more than the connection's window", -r.window)
	}
	if s != nil && !within {
		r.at = atSkipped
		return s, nil
	}
	r.stream = s
	if r.at = atData; f.flags.Has(http2.FlagDataPadded) {
		if r.at = atPadLength; f.size == 0 {
			return nil, c.breach(http2.ErrCodeFrameSize, "a padded frame without its padding's length")
		}
	}
	return nil, nil
}

// wasOpened reports whether a stream is or was there. Needs mu.
func (c *Conn) wasOpened(id uint32) bool { return id%2 == 1 && id < c.nextID }

func (c *Conn) atPadLength() error {
	r := &c.in
	r.padding = int(r.rest[0])
	r.rest, r.left = r.rest[1:], r.left-1
	if r.padding > r.left {
		return c.breach(http2.ErrCodeProtocol, "padding of %d bytes in the %d that are left of a frame", r.padding, r.left)
	}
	r.left -= r.padding
	r.at = atData
	return nil
}

// atData takes bytes of a DATA frame, up to the end of a message.
func (c *Conn) atData() *Stream {
	r := &c.in
	if r.left == 0 {
		r.at, r.left = atSkipped, r.padding
		return nil
	}
	b := r.rest[:min(r.left, len(r.rest))]
	s := r.stream
	if s == nil {
		r.advance(len(b))
		return nil
	}
	n, whole, err := s.take(b)
	r.advance(n)
	if err != nil {
		r.stream, s.have = nil, 0 // what was refused is no message
		c.fail(s, http2.ErrCodeCancel, err)
		return s
	}
	if !whole {
		return nil
	}
	return s
}

func (r *reader) advance(n int) { r.rest, r.left = r.rest[n:], r.left-n }

// atSkipped takes bytes that do not matter, and ends the frame.
func (c *Conn) atSkipped() *Stream {
	r := &c.in
	r.advance(min(r.left, len(r.rest)))
	if r.left > 0 {
		return nil
	}
	s := r.stream
	r.at, r.stream = atHeader, nil
	if s == nil || !r.frame.flags.Has(http2.FlagDataEndStream) {
		return nil
	}
	c.fail(s, http2.ErrCodeNo, status.Error(codes.Internal, "the control plane ended the stream without a status"))
	return s
}

// fail ends a stream for what was received on it.
func (c *Conn) fail(s *Stream, code http2.ErrCode, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.err != nil {
		return
	}
	c.out.control = appendReset(c.out.control, s.id, code)
	c.pump()
	c.end(s, err)
}
