package fakeproxy

import (
	"sync"
	"time"

	"google.golang.org/grpc"
)

// Limits of sending from the goroutine that receives. SendMsg blocks once the
// server leaves 64 KiB unread beyond its window; a server that reads only
// after it has sent would then wait for us, and we for it.
const (
	inlineBytes = 8 << 10
	inlineTime  = time.Millisecond
)

// outbox sends the requests of one stream in the order in which they were put
// in. Small ones are sent at once by the caller of flush; large ones, and all
// after a send that took long, by a goroutine that ends with the queue.
type outbox struct {
	stream grpc.ClientStream
	wg     sync.WaitGroup

	mu    sync.Mutex
	queue []*request // guarded by mu
	bytes int        // size of the queue; guarded by mu
	busy  bool       // somebody is sending; guarded by mu
	slow  bool       // a send took long; guarded by mu
	err   error      // guarded by mu
}

// put queues a request. It never blocks.
func (o *outbox) put(r *request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.queue = append(o.queue, r)
		o.bytes += r.size()
	}
}

// flush sends what is queued, or sees to it that somebody does. It returns the
// error that broke the stream, which receiving will report too.
func (o *outbox) flush(inline bool) error {
	o.mu.Lock()
	if o.busy || o.err != nil || len(o.queue) == 0 {
		defer o.mu.Unlock()
		return o.err
	}
	o.busy = true
	inline = inline && !o.slow && o.bytes <= inlineBytes
	o.mu.Unlock()
	if !inline {
		o.wg.Go(o.drain)
		return nil
	}
	start := time.Now()
	o.drain()
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(start) > inlineTime {
		o.slow = true
	}
	return o.err
}

// drain sends until the queue is empty.
func (o *outbox) drain() {
	for {
		o.mu.Lock()
		queue := o.queue
		o.queue, o.bytes = nil, 0
		if len(queue) == 0 || o.err != nil {
			o.busy = false
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		for _, r := range queue {
			if err := o.stream.SendMsg(r); err != nil {
				o.mu.Lock()
				o.err = err
				o.mu.Unlock()
				break
			}
		}
	}
}

// wait returns when nothing is being sent any more. The stream must have ended.
func (o *outbox) wait() { o.wg.Wait() }
