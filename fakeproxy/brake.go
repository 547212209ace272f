package fakeproxy

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// brake holds up the reading of one connection: for a while before each read,
// or for ever. The bytes stay in the socket, so that TCP stops the sender.
type brake struct {
	slow  SlowReadSpec
	count *atomic.Int64 // of reads held up

	next    time.Time // no read before; used by the reading goroutine only
	stalled atomic.Bool
	closed  chan struct{}
	once    sync.Once
}

func newBrake(slow SlowReadSpec, count *atomic.Int64) *brake {
	return &brake{slow: slow, count: count, closed: make(chan struct{})}
}

// stall ends all reading.
func (b *brake) stall() { b.stalled.Store(true) }

// release lets a held-up read return, as the connection is closed.
func (b *brake) release() { b.once.Do(func() { close(b.closed) }) }

// hold waits until a read may be made. It fails once the connection is closed.
func (b *brake) hold() error {
	if b.stalled.Load() {
		<-b.closed
		return net.ErrClosed
	}
	d := max(b.slow.Pause.Duration, time.Until(b.next))
	if d <= 0 {
		return nil
	}
	b.count.Add(1)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-b.closed:
		return net.ErrClosed
	}
}

// limit bounds one read of at most n bytes, so that slow reading is even.
func (b *brake) limit(n int) int {
	const perSecond = 10
	if b.slow.BytesPerSecond == 0 {
		return n
	}
	return min(n, max(b.slow.BytesPerSecond/perSecond, 1))
}

// took notes a read of n bytes.
func (b *brake) took(n int) {
	if b.slow.BytesPerSecond > 0 {
		b.next = time.Now().Add(time.Duration(n) * time.Second / time.Duration(b.slow.BytesPerSecond))
	}
}
