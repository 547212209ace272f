package h2

import (
	"encoding/binary"
	"math"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// Stream is one stream of messages both ways. One goroutine serves it; any may send.
type Stream struct {
	conn *Conn
	id   uint32

	// Used by the goroutine that reads only.
	begun  bool // the response headers have come
	prefix [prefixSize]byte
	have   int      // bytes of prefix
	need   int      // bytes that are still to come of the message
	pieces [][]byte // of the message
	whole  []byte   // the message so far, where the connection is shared

	// Guarded by conn.mu.
	window     int64  // what the peer may send
	owed       uint32 // what it sent and was not given back
	sendWindow int64
	sending    []outgoing
	sent       int  // bytes of sending[0]
	pending    int  // bytes of sending that were not sent
	queued     bool // in conn.out.ready
	err        error
	received   []Message     // where the connection is shared
	wake       chan struct{} // where the connection is shared: something was received, or it has ended
}

// Message is one message as it came, in pieces one after the other.
type Message struct {
	Pieces [][]byte
	// Stamp is what Socket.Stamp returned when the message was whole.
	Stamp Stamp
}

// Serve hands over one message after the other, until the stream ends or handle returns
// an error. A message is good until handle returns. The error says why the stream has
// ended: handle's, a gRPC status, or io.EOF.
func (s *Stream) Serve(handle func(m *Message) error) error {
	if s.conn.shared {
		return s.serveShared(handle)
	}
	var failed error
	s.conn.read(func(*Stream) bool {
		if s.complete() {
			failed = handle(&Message{Pieces: s.pieces, Stamp: s.conn.socket.Stamp()})
			s.have = 0
			s.release()
		}
		return failed == nil && s.ended() == nil
	})
	if failed != nil {
		return failed
	}
	if err := s.ended(); err != nil {
		return err
	}
	return errReset
}

// release gives back the buffers of a message.
func (s *Stream) release() {
	clear(s.pieces)
	const kept = 4
	if s.pieces = s.pieces[:0]; cap(s.pieces) > kept {
		s.pieces = nil
	}
	s.conn.in.release()
}

func (s *Stream) ended() error {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.err
}

// complete reports whether a message is whole.
func (s *Stream) complete() bool { return s.have == prefixSize && s.need == 0 }

// within reports whether a message has begun and is not whole.
func (s *Stream) within() bool { return s.have > 0 && !s.complete() }

// take takes bytes of data up to the end of a message, and returns how many.
func (s *Stream) take(b []byte) (n int, whole bool, err error) {
	if !s.begun {
		return 0, false, status.Error(codes.Internal, "the control plane broke HTTP/2: DATA before the headers of its response")
	}
	if s.have < prefixSize {
		n = copy(s.prefix[s.have:], b)
		if s.have += n; s.have < prefixSize {
			return n, false, nil
		}
		if err := s.start(); err != nil {
			return n, false, err
		}
	}
	piece := b[n:min(len(b), n+s.need)]
	if len(piece) > 0 {
		n, s.need = n+len(piece), s.need-len(piece)
		s.keep(piece)
	}
	return n, s.need == 0, nil
}

// start takes the prefix of a message.
func (s *Stream) start() error {
	if s.prefix[0] != 0 {
		return status.Error(codes.Unimplemented, "the control plane sent a compressed message, though no encoding was offered")
	}
	size := binary.BigEndian.Uint32(s.prefix[1:])
	if most := s.conn.cfg.MaxReceiveBytes; uint64(size) > uint64(most) {
		return tooLarge(int(size), most)
	}
	s.need = int(size)
	return nil
}

// keep keeps a piece of the message. Other streams' messages may come between the
// pieces of one, so where the connection is shared it is put together at once.
func (s *Stream) keep(piece []byte) {
	if s.conn.shared {
		s.whole = append(s.whole, piece...)
		return
	}
	s.pieces = append(s.pieces, piece)
	s.conn.in.pinned = true
}

// charge counts a DATA frame for the stream's window, and gives half of the window back
// once it is used up; where the connection is shared only if nothing waits to be
// received, so that a peer cannot fill the memory. It reports whether the frame is within the
// window; if not, the stream has ended. Needs conn.mu.
func (s *Stream) charge(f frameHeader) bool {
	s.window -= int64(f.size)
	s.owed += uint32(f.size)
	if s.window < 0 {
		s.conn.out.control = appendReset(s.conn.out.control, s.id, http2.ErrCodeFlowControl)
		s.conn.end(s, status.Error(codes.Internal, "the control plane broke HTTP/2 (FLOW_CONTROL_ERROR): more than the stream's window"))
		return false
	}
	if len(s.received) == 0 {
		s.credit()
	}
	return true
}

// credit lets the peer send more. Needs conn.mu.
func (s *Stream) credit() {
	if s.err == nil && s.owed >= s.conn.cfg.StreamWindow/2 {
		s.conn.out.control = appendWindowUpdate(s.conn.out.control, s.id, s.owed)
		s.window += int64(s.owed)
		s.owed = 0
	}
}

// Interrupt ends the stream, also while it waits to receive.
func (s *Stream) Interrupt() {
	c := s.conn
	c.mu.Lock()
	c.reset(s, http2.ErrCodeCancel)
	c.pump()
	c.mu.Unlock()
	if !c.shared {
		c.interrupt()
	}
}

// Send queues one message of one or two pieces, and gives their buffers back once they
// have been copied. It never waits for the peer. After the stream's end it does nothing.
func (s *Stream) Send(first, second mem.Buffer) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	m := outgoing{pieces: [2]mem.Buffer{first, second}}
	size := m.size()
	if s.err != nil || size > math.MaxUint32 {
		m.free()
		return
	}
	binary.BigEndian.PutUint32(m.prefix[1:], uint32(size))
	s.sending = append(s.sending, m)
	s.pending += prefixSize + size
	c.out.queue(s)
	c.pump()
}

// serve reads a shared connection until it ends.
func (c *Conn) serve() {
	c.read(func(s *Stream) bool {
		if s.complete() {
			m := Message{Pieces: [][]byte{s.whole}, Stamp: c.socket.Stamp()}
			s.have, s.whole = 0, nil
			c.mu.Lock()
			if s.err == nil {
				s.received = append(s.received, m)
				s.signal()
			}
			c.mu.Unlock()
		}
		return true
	})
}

// signal wakes whoever waits to receive. Needs conn.mu.
func (s *Stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // not shared, or it has been told
	}
}

// serveShared hands over the messages that serve has read.
func (s *Stream) serveShared(handle func(m *Message) error) error {
	for {
		m, err := s.receive()
		if err == nil {
			err = handle(&m)
		}
		if err != nil {
			return err
		}
	}
}

// receive waits for a message that serve has read.
func (s *Stream) receive() (Message, error) {
	c := s.conn
	for {
		c.mu.Lock()
		if len(s.received) > 0 {
			m := s.received[0]
			if s.received = s.received[1:]; len(s.received) == 0 {
				s.received = nil
				s.credit()
				c.pump()
			}
			c.mu.Unlock()
			return m, nil
		}
		err := s.err
		c.mu.Unlock()
		if err != nil {
			return Message{}, err
		}
		<-s.wake
	}
}
