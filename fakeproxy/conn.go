package fakeproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
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
	// last is when the bytes of the last read reached this machine. grpc-go reads
	// ahead in a goroutine of its own, so by the time a message is handed over this
	// may be the read of a later message: the difference to the hand-over is then
	// too small, never too large.
	last    atomic.Int64
	in, out atomic.Int64
}

// read notes a read of n bytes that have been there since arrival, by the wall
// clock. If that is not known (the kernel begins to take times a moment after the
// first socket asks for them), or if the clock was turned back meanwhile, they are
// taken to have come just now.
func (m *meter) read(n int, arrival time.Time) {
	m.in.Add(int64(n))
	now := time.Now()
	var waited time.Duration
	if !arrival.IsZero() {
		waited = max(0, now.Sub(arrival))
	}
	m.last.Store(int64(m.clock.At(now).Add(-waited)))
}

// meteredConn is a TCP connection that notes its reads and counts its bytes.
type meteredConn struct {
	*net.TCPConn
	meter  *meter
	raw    syscall.RawConn
	brake  *brake // nil unless reading may be held up
	frames frameWriter

	// Guarded by grpc-go, whose one reader goroutine makes all reads.
	want    int
	pool    mem.BufferPool
	buf     *[]byte
	n       int
	arrival time.Time
	err     error
	held    bool // the brake was put on while the read waited
	fill    func(fd uintptr) bool
}

func newMeteredConn(c *net.TCPConn, m *meter, b *brake) (*meteredConn, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	mc := &meteredConn{TCPConn: c, meter: m, raw: raw, brake: b}
	mc.frames = frameWriter{to: counting{mc}, pool: mem.DefaultBufferPool()}
	mc.fill = mc.tryRead
	return mc, stampArrivals(raw)
}

// Read reads from the socket.
func (c *meteredConn) Read(b []byte) (int, error) {
	if c.brake != nil {
		if err := c.brake.hold(); err != nil {
			return 0, err
		}
		b = b[:c.brake.limit(len(b))]
	}
	n, err := c.TCPConn.Read(b)
	c.meter.read(n, time.Time{})
	if c.brake != nil {
		c.brake.took(n)
	}
	return n, err
}

// Close closes the connection, also while a read is held up.
func (c *meteredConn) Close() error {
	if c.brake != nil {
		c.brake.release()
	}
	return c.TCPConn.Close()
}

// Write writes frames to the socket. grpc-go's goroutines take turns in it.
func (c *meteredConn) Write(b []byte) (int, error) { return c.frames.Write(b) }

// counting writes to a connection's socket.
type counting struct{ c *meteredConn }

func (w counting) Write(b []byte) (int, error) {
	n, err := w.c.TCPConn.Write(b)
	w.c.meter.out.Add(int64(n))
	return n, err
}

// ReadOnReady reads into a buffer that is taken from the pool only once there
// is something to read, so that an idle connection holds no read buffer.
// grpc-go calls it in place of Read.
func (c *meteredConn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	c.want, c.pool = size, pool
	var err error
	if c.brake == nil {
		err = c.raw.Read(c.fill)
	} else {
		err = c.readWhenAllowed()
	}
	buf, n, readErr := c.buf, c.n, c.err
	c.buf, c.n, c.err, c.pool = nil, 0, nil, nil
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
	if c.brake != nil {
		c.brake.took(n)
	}
	c.meter.read(n, c.arrival)
	return buf, n, nil
}

// readWhenAllowed makes one read, as soon as the brake lets it. The brake may
// be put on while the read waits for the socket.
func (c *meteredConn) readWhenAllowed() error {
	for {
		if err := c.brake.hold(); err != nil {
			return err
		}
		c.held = false
		if err := c.raw.Read(c.fill); err != nil || !c.held {
			return err
		}
	}
}

// tryRead makes one read, and reports false if the socket has nothing yet.
func (c *meteredConn) tryRead(fd uintptr) bool {
	want := c.want
	if c.brake != nil {
		if c.held = c.brake.stalled.Load(); c.held {
			return true
		}
		want = c.brake.limit(want)
	}
	c.buf = c.pool.Get(c.want)
	c.n, c.arrival, c.err = receive(int(fd), (*c.buf)[:want])
	if c.brake != nil {
		c.arrival = time.Time{} // what waited was left there on purpose
	}
	if c.err == nil {
		return true
	}
	c.n = 0
	c.pool.Put(c.buf)
	c.buf = nil
	if errors.Is(c.err, unix.EAGAIN) {
		c.err = nil
		return false
	}
	return true
}

// dialer connects from one source address.
type dialer struct {
	source netip.Addr // invalid: the system's choice
	meter  *meter

	brakes bool // whether reading may be held up
	slow   SlowReadSpec
	held   *atomic.Int64 // counts reads held up
	// brake is that of the latest connection.
	brake atomic.Pointer[brake]
}

// dial is a grpc.WithContextDialer function.
func (d *dialer) dial(ctx context.Context, addr string) (net.Conn, error) {
	nd := net.Dialer{KeepAlive: -1}
	if d.source.IsValid() {
		nd.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(d.source, 0))
		nd.ControlContext = lateBind
	}
	c, err := nd.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connection to %s is a %T, not TCP", addr, c), c.Close())
	}
	var b *brake
	if d.brakes {
		b = newBrake(d.slow, d.held)
		d.brake.Store(b)
	}
	mc, err := newMeteredConn(tcp, d.meter, b)
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	return mc, nil
}

// lateBind leaves the choice of the port to connect, which knows the target,
// so that one source address gives its whole port range to each target.
func lateBind(_ context.Context, _, _ string, c syscall.RawConn) error {
	var opt error
	err := c.Control(func(fd uintptr) {
		opt = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	})
	return errors.Join(err, opt)
}
