package adsconn

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/mem"

	"github.com/xdsbench/xdsbench/event"
)

// meter counts what a connection and its successors moved.
type meter struct {
	clock event.Clock
	// last is when the bytes of the last read reached this machine, 0 if that is not
	// known. grpc-go reads ahead in a goroutine of its own, so by the time a message
	// is handed over this may be the read of a later message: the difference to the
	// hand-over is then too small, never too large.
	last    atomic.Int64
	in, out atomic.Int64
}

// read notes a read of n bytes that have been there since arrival, by the wall
// clock; the zero time if the kernel does not tell. It does not for a unix socket,
// nor for the first moment after the first socket has asked for it. If the clock was
// turned back meanwhile, the bytes are taken to have come just now.
func (m *meter) read(n int, arrival time.Time) {
	m.in.Add(int64(n))
	if arrival.IsZero() {
		m.last.Store(0)
		return
	}
	now := time.Now()
	m.last.Store(int64(m.clock.At(now).Add(-max(0, now.Sub(arrival)))))
}

// socket is a connection that notes its reads and counts its bytes.
type socket struct {
	net.Conn

	meter  *meter
	raw    syscall.RawConn
	pacer  *pacer // nil unless reading may be held up
	frames frameWriter

	// Guarded by grpc-go, whose one reader goroutine makes all reads.
	want     int
	pool     mem.BufferPool
	buf      *[]byte
	n        int
	arrival  time.Time
	err      error
	deferred bool // the pacer stopped reading while the read waited
	fill     func(fd uintptr) bool
}

func newSocket(c net.Conn, m *meter, cfg ConnConfig) (*socket, error) {
	sys, ok := c.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("a %T is no socket of the system", c)
	}
	raw, err := sys.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{Conn: c, meter: m, raw: raw}
	if cfg.MayStop || cfg.BytesPerSecond > 0 || cfg.Pause > 0 {
		s.pacer = newPacer(cfg)
	}
	s.frames = frameWriter{to: counting{s}, pool: mem.DefaultBufferPool()}
	s.fill = s.tryRead
	return s, stampArrivals(raw)
}

// Read reads from the socket, without the time of arrival. grpc-go calls ReadOnReady
// instead, as long as its interface for that does not change.
func (s *socket) Read(b []byte) (int, error) {
	if s.pacer != nil {
		if err := s.pacer.wait(); err != nil {
			return 0, err
		}
		b = b[:s.pacer.limit(len(b))]
	}
	n, err := s.Conn.Read(b)
	s.meter.read(n, time.Time{})
	if s.pacer != nil {
		s.pacer.note(n)
	}
	return n, err
}

// Close closes the connection, also while a read is held up.
func (s *socket) Close() error {
	if s.pacer != nil {
		s.pacer.close()
	}
	return s.Conn.Close()
}

// SetWriteDeadline bounds the writes of a connection that is being closed: grpc-go
// calls it only then. It would wait 5 s for a peer that reads nothing.
func (s *socket) SetWriteDeadline(t time.Time) error {
	if latest := time.Now().Add(closeTimeout); t.After(latest) {
		t = latest
	}
	return s.Conn.SetWriteDeadline(t)
}

// Write writes frames to the socket. grpc-go's goroutines take turns in it.
func (s *socket) Write(b []byte) (int, error) { return s.frames.Write(b) }

// counting writes to a connection's socket.
type counting struct{ s *socket }

func (w counting) Write(b []byte) (int, error) {
	n, err := w.s.Conn.Write(b)
	w.s.meter.out.Add(int64(n))
	return n, err
}

// ReadOnReady reads into a buffer that is taken from the pool only once there
// is something to read, so that an idle connection holds no read buffer.
// grpc-go calls it in place of Read.
func (s *socket) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	s.want, s.pool = size, pool
	var err error
	if s.pacer == nil {
		err = s.raw.Read(s.fill)
	} else {
		err = s.readWhenAllowed()
	}
	buf, n, readErr := s.buf, s.n, s.err
	s.buf, s.n, s.err, s.pool = nil, 0, nil, nil
	switch {
	case err != nil:
	case readErr != nil:
		err = readErr
	case n == 0:
		err = io.EOF
	}
	if err != nil {
		if buf != nil {
			pool.Put(buf)
		}
		return nil, 0, err
	}
	arrival := s.arrival
	if s.pacer != nil {
		s.pacer.note(n)
		arrival = time.Now() // what waited was left there on purpose
	}
	s.meter.read(n, arrival)
	return buf, n, nil
}

// readWhenAllowed makes one read, as soon as the pacer lets it. The pacer may
// stop reading while the read waits for the socket.
func (s *socket) readWhenAllowed() error {
	for {
		if err := s.pacer.wait(); err != nil {
			return err
		}
		s.deferred = false
		if err := s.raw.Read(s.fill); err != nil || !s.deferred {
			return err
		}
	}
}

// tryRead makes one read, and reports false if the socket has nothing yet: it is
// called again then.
func (s *socket) tryRead(fd uintptr) bool {
	want := s.want
	if s.pacer != nil {
		if s.deferred = s.pacer.stopped.Load(); s.deferred {
			return true
		}
		want = s.pacer.limit(want)
	}
	s.buf = s.pool.Get(s.want)
	s.n, s.arrival, s.err = receive(int(fd), (*s.buf)[:want])
	if s.err == nil {
		return true
	}
	s.n = 0
	s.pool.Put(s.buf)
	s.buf = nil
	if errors.Is(s.err, unix.EAGAIN) {
		s.err = nil
		return false
	}
	return true
}
