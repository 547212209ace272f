package adsconn

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
)

// outbox is a stream of grpc-go. It sends requests in the order in which they were
// given. SendMsg blocks once the server leaves 64 KiB unread beyond its window,
// and a server may well read only after it has sent: if the goroutine that
// receives sent too, each would wait for the other. So the sending is done by
// one of the senders, and only while the queue is not empty.
type outbox struct {
	stream  grpc.ClientStream
	senders *senders
	wg      sync.WaitGroup

	mu    sync.Mutex
	queue []*Request // guarded by mu
	busy  bool       // a goroutine is sending; guarded by mu
	ended bool       // the stream takes no more; guarded by mu
}

// send hands over a request. It never blocks. That a stream is broken shows in
// its receiving, with the server's status.
func (o *outbox) send(r *Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	o.queue = append(o.queue, r)
	if !o.busy {
		o.busy = true
		o.wg.Add(1)
		o.senders.take(o)
	}
}

// senders are goroutines that empty outboxes. Some stay when they have nothing
// to do, since the stack of a new one would have to grow for its first message.
type senders struct {
	work  chan *outbox // to an idle sender
	idle  atomic.Int64
	ended chan struct{}
	wg    sync.WaitGroup
}

// maxIdleSenders bounds the senders that wait for work.
const maxIdleSenders = 64

func newSenders() *senders { return &senders{work: make(chan *outbox), ended: make(chan struct{})} }

// close ends the idle senders and waits for all.
func (s *senders) close() {
	close(s.ended)
	s.wg.Wait()
}

// take has an outbox emptied. It never blocks.
func (s *senders) take(o *outbox) {
	select {
	case s.work <- o:
	default:
		s.wg.Go(func() { s.serve(o) })
	}
}

func (s *senders) serve(o *outbox) {
	for {
		o.drain()
		o.wg.Done()
		if s.idle.Add(1) > maxIdleSenders {
			s.idle.Add(-1)
			return
		}
		select {
		case o = <-s.work:
			s.idle.Add(-1)
		case <-s.ended:
			s.idle.Add(-1)
			return
		}
	}
}

// drain sends until the queue is empty.
func (o *outbox) drain() {
	for {
		o.mu.Lock()
		queue := o.queue
		o.queue = nil
		if len(queue) == 0 {
			o.busy = false
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		if o.sendAll(queue) != nil {
			return
		}
	}
}

// sendAll sends requests. On an error the stream takes no more.
func (o *outbox) sendAll(queue []*Request) error {
	for _, r := range queue {
		if err := o.stream.SendMsg(r); err != nil {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.ended, o.queue = true, nil
			return err
		}
	}
	return nil
}

// serve hands over one message after the other.
func (o *outbox) serve(handle func(m *Message) error) error {
	var m Message
	for {
		if err := o.stream.RecvMsg(&m); err != nil {
			return err
		}
		err := handle(&m)
		m.data.Free()
		clear(m.Pieces)
		if err != nil {
			return err
		}
	}
}

// close returns when nothing is being sent any more. The stream must have ended, and
// nobody may send.
func (o *outbox) close() { o.wg.Wait() }
