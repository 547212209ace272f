package h2

import (
	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// writer is what waits to be written. It is guarded by Conn.mu.
type writer struct {
	control []byte    // frames that go before all data
	ready   []*Stream // with messages to send, in turns
	window  int64     // what may be sent on the connection
	chunk   *[]byte   // framed bytes that the socket did not take yet; nil if there are none
	rest    []byte    // of chunk
	busy    bool      // a goroutine writes rest
}

// outgoing is a message that is to be sent.
type outgoing struct {
	prefix [prefixSize]byte
	pieces [2]mem.Buffer
}

func (m *outgoing) size() int {
	n := 0
	for _, p := range m.pieces {
		if p != nil {
			n += p.Len()
		}
	}
	return n
}

func (m *outgoing) free() {
	for _, p := range m.pieces {
		if p != nil {
			p.Free()
		}
	}
}

// queue gives a stream its turn, if it has something to send.
func (w *writer) queue(s *Stream) {
	if !s.queued && s.pending > 0 {
		s.queued = true
		w.ready = append(w.ready, s)
	}
}

// drop forgets what was to be written.
func (c *Conn) drop() {
	w := &c.out
	w.control, w.ready = nil, nil
	if !w.busy && w.chunk != nil {
		c.written()
	}
}

// written gives the chunk back.
func (c *Conn) written() {
	c.cfg.Buffers.writes(cap(*c.out.chunk)).Put(c.out.chunk)
	c.out.chunk, c.out.rest = nil, nil
}

// pump writes what may be sent, as far as the socket takes it. A goroutine writes the
// rest. Needs mu.
func (c *Conn) pump() {
	for c.err == nil && !c.out.busy && c.frames() {
		n, err := c.socket.TryWrite(c.out.rest)
		if err != nil {
			c.written()
			c.unwritable(err)
			return
		}
		if n < len(c.out.rest) {
			c.out.rest, c.out.busy = c.out.rest[n:], true
			c.work.Go(c.write)
			return
		}
		c.written()
	}
}

// unwritable ends the connection, as nothing can be written any more. If the peer has
// said why, in a frame that was not read yet, that is lost, as it is for grpc-go. Needs mu.
func (c *Conn) unwritable(err error) {
	c.endAll(status.Error(codes.Unavailable, "connection lost: "+err.Error()+c.peer.farewell))
	c.broken = true
	c.socket.Interrupt()
}

// write writes until nothing is left to write.
func (c *Conn) write() {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.out.busy = false }()
	for more := true; more; more = c.err == nil && c.frames() {
		b := c.out.rest
		c.mu.Unlock()
		err := c.socket.WriteAll(b)
		c.mu.Lock()
		c.written()
		if err != nil {
			c.unwritable(err)
			return
		}
	}
}

// frames puts what may be sent now into a chunk, and reports whether that is anything.
// Needs mu.
func (c *Conn) frames() bool {
	w := &c.out
	size := len(w.control)
	for _, s := range w.ready {
		size += s.pending + (s.pending/c.peer.frameSize+1)*frameHeaderSize
	}
	if size == 0 {
		return false
	}
	w.chunk = c.cfg.Buffers.writes(size).Get()
	b := (*w.chunk)[:0]
	b = append(b, w.control...)
	w.control = nil // an idle connection keeps no room for it
	for len(w.ready) > 0 && w.window > 0 {
		s := w.ready[0]
		n := min(s.pending, int(s.sendWindow), int(w.window), c.peer.frameSize, cap(b)-len(b)-frameHeaderSize)
		if s.pending > 0 && s.sendWindow > 0 && n <= 0 {
			break // the chunk is full
		}
		w.ready = w.ready[1:]
		if s.queued = false; n <= 0 {
			continue
		}
		b = appendFrameHeader(b, n, http2.FrameData, 0, s.id)
		b = s.appendData(b, n)
		s.sendWindow -= int64(n)
		w.window -= int64(n)
		w.queue(s)
	}
	if len(w.ready) == 0 {
		w.ready = nil
	}
	w.rest = b
	if len(b) == 0 {
		c.written()
		return false
	}
	return true
}

// appendData appends the next n bytes of what is to be sent. Needs conn.mu.
func (s *Stream) appendData(b []byte, n int) []byte {
	s.pending -= n
	for n > 0 {
		m := &s.sending[0]
		at := 0
		add := func(p []byte) {
			from := min(max(s.sent-at, 0), len(p))
			take := min(len(p)-from, n)
			b = append(b, p[from:from+take]...)
			s.sent, n, at = s.sent+take, n-take, at+len(p)
		}
		add(m.prefix[:])
		for _, p := range m.pieces {
			if p != nil {
				add(p.ReadOnlyData())
			}
		}
		if s.sent == at {
			m.free()
			*m = outgoing{}
			s.sending, s.sent = s.sending[1:], 0
		}
	}
	if len(s.sending) == 0 {
		s.sending = nil
	}
	return b
}

// dropQueue forgets what was to be sent. Needs conn.mu.
func (s *Stream) dropQueue() {
	for i := range s.sending {
		s.sending[i].free()
	}
	s.sending, s.sent, s.pending = nil, 0, 0
}
