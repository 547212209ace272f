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
	"github.com/xdsbench/xdsbench/fakeproxy/adsconn/h2"
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

	meter *meter
	raw   syscall.RawConn
	pacer *pacer // nil unless reading may be held up

	// Used by the one goroutine that reads.
	want     int
	pool     mem.BufferPool
	buf      *[]byte
	n        int
	arrival  time.Time
	err      error
	deferred bool // the pacer stopped reading while the read waited
	fill     func(fd uintptr) bool

	// Used by one goroutine at a time, that which writes.
	out      []byte
	written  int
	writeErr error
	flush    func(fd uintptr) bool
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
	s.fill, s.flush = s.tryRead, s.tryWrite
	return s, stampArrivals(raw)
}

// Close closes the connection, also while a read is held up.
func (s *socket) Close() error {
	if s.pacer != nil {
		s.pacer.close()
	}
	return s.Conn.Close()
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
	if s.pacer != nil {
		if s.deferred = s.pacer.stopped.Load(); s.deferred {
			return true
		}
	}
	s.buf = s.pool.Get(s.want)
	into := *s.buf
	if s.pacer != nil {
		into = into[:s.pacer.limit(len(into))]
	}
	s.n, s.arrival, _, s.err = receive(int(fd), into)
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

// ReadLoop reads until take wants no more.
func (s *socket) ReadLoop(pool *h2.BufferPool, take func(buf *[]byte, n int) bool) error {
	if s.pacer != nil {
		return s.readSlowly(pool, take)
	}
	var end error
	// All reads are within one call of raw.Read, which remembers what becomes readable
	// meanwhile. So where the kernel says that nothing is left, there is no need to try.
	err := s.raw.Read(func(fd uintptr) bool {
		for {
			buf := pool.Get()
			n, arrival, left, err := receive(int(fd), *buf)
			if err != nil || n == 0 {
				pool.Put(buf)
				if errors.Is(err, unix.EAGAIN) {
					return false
				}
				if end = err; err == nil {
					end = io.EOF
				}
				return true
			}
			s.meter.read(n, arrival)
			if !take(buf, n) {
				return true
			}
			if left == 0 {
				return false
			}
		}
	})
	return errors.Join(err, end)
}

// readSlowly is ReadLoop where reading may be held up.
func (s *socket) readSlowly(pool *h2.BufferPool, take func(buf *[]byte, n int) bool) error {
	for {
		buf, n, err := s.ReadOnReady(0, slow{pool})
		if err != nil || !take(buf, n) {
			return err
		}
	}
}

// slow is a pool as ReadOnReady wants it.
type slow struct{ pool *h2.BufferPool }

func (p slow) Get(int) *[]byte { return p.pool.Get() }
func (p slow) Put(b *[]byte)   { p.pool.Put(b) }

// TryWrite writes what the socket takes at once, which may be nothing.
func (s *socket) TryWrite(b []byte) (int, error) {
	s.out, s.written, s.writeErr = b, 0, nil
	err := s.raw.Write(s.flush)
	s.out = nil
	if err == nil {
		err = s.writeErr
	}
	s.meter.out.Add(int64(s.written))
	return s.written, err
}

// tryWrite makes one write, and never asks to be called again.
func (s *socket) tryWrite(fd uintptr) bool {
	n, err := unix.Write(int(fd), s.out)
	switch {
	case err == nil:
		s.written = n
	case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
		s.writeErr = err
	}
	return true
}

// WriteAll waits until all is written.
func (s *socket) WriteAll(b []byte) error {
	n, err := s.Write(b)
	s.meter.out.Add(int64(n))
	return err
}

// Stamp is that of a message that has just become whole.
func (s *socket) Stamp() h2.Stamp {
	return h2.Stamp{Received: s.meter.clock.Now(), Arrived: event.Time(s.meter.last.Load())}
}

// Interrupt ends all reading.
func (s *socket) Interrupt() {
	if s.pacer != nil {
		s.pacer.close()
	}
	_ = s.SetReadDeadline(time.Unix(1, 0)) // it fails for a closed connection only
}
