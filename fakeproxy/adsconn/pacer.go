package adsconn

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// pacer holds up the reading of one connection: for a while before each read,
// or for ever. The bytes stay in the socket, so that TCP stops the sender.
type pacer struct {
	bytesPerSecond int
	pause          time.Duration
	delayed        *atomic.Int64 // counts the reads that had to wait; may be nil

	next    time.Time // no read before; used by the reading goroutine only
	stopped atomic.Bool
	closed  chan struct{}
	once    sync.Once
}

func newPacer(cfg ConnConfig) *pacer {
	return &pacer{
		bytesPerSecond: cfg.BytesPerSecond, pause: cfg.Pause, delayed: cfg.SlowReads,
		closed: make(chan struct{}),
	}
}

// stop ends all reading.
func (p *pacer) stop() { p.stopped.Store(true) }

// close lets a read that waits return, as the connection is closed.
func (p *pacer) close() { p.once.Do(func() { close(p.closed) }) }

// wait waits until a read may be made. It fails once the connection is closed.
func (p *pacer) wait() error {
	if p.stopped.Load() {
		<-p.closed
		return net.ErrClosed
	}
	d := max(p.pause, time.Until(p.next))
	if d <= 0 {
		return nil
	}
	if p.delayed != nil {
		p.delayed.Add(1)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.closed:
		return net.ErrClosed
	}
}

// limit bounds one read of at most n bytes, so that slow reading is even.
func (p *pacer) limit(n int) int {
	const perSecond = 10
	if p.bytesPerSecond == 0 {
		return n
	}
	return min(n, max(p.bytesPerSecond/perSecond, 1))
}

// note puts off the next read after one of n bytes.
func (p *pacer) note(n int) {
	if p.bytesPerSecond > 0 {
		p.next = time.Now().Add(time.Duration(n) * time.Second / time.Duration(p.bytesPerSecond))
	}
}
