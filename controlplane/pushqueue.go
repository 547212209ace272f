package controlplane

import (
	"context"
	"sync"
)

// pushQueue holds the connections that wait for a push, first come first
// served. A connection is in it at most once: a further push merges into the
// one that waits. While a connection is being pushed it is not handed out
// again; what arrives meanwhile waits for markDone.
type pushQueue[C comparable] struct {
	wake chan struct{} // holds a token when the queue may not be empty

	mu         sync.Mutex
	order      []C
	pending    map[C]*pushRequest // for everything in order
	processing map[C]*pushRequest // in flight, with what arrived since, or nil
}

func newPushQueue[C comparable]() *pushQueue[C] {
	return &pushQueue[C]{
		wake:       make(chan struct{}, 1),
		pending:    make(map[C]*pushRequest),
		processing: make(map[C]*pushRequest),
	}
}

// enqueue adds request for every one of conns. Connections that wait with the
// same request, as most do under load, share the merged one.
func (q *pushQueue[C]) enqueue(request *pushRequest, conns ...C) {
	q.mu.Lock()
	defer q.mu.Unlock()
	merged := make(map[*pushRequest]*pushRequest)
	for _, conn := range conns {
		q.addLocked(conn, request, merged)
	}
	q.wakeLocked()
}

func (q *pushQueue[C]) addLocked(conn C, request *pushRequest, merged map[*pushRequest]*pushRequest) {
	if waiting, busy := q.processing[conn]; busy {
		q.processing[conn] = mergeOnce(waiting, request, merged)
		return
	}
	waiting, queued := q.pending[conn]
	q.pending[conn] = mergeOnce(waiting, request, merged)
	if !queued {
		q.order = append(q.order, conn)
	}
}

func mergeOnce(waiting, request *pushRequest, merged map[*pushRequest]*pushRequest) *pushRequest {
	if waiting == nil {
		return request
	}
	both, ok := merged[waiting]
	if !ok {
		both = waiting.merge(request)
		merged[waiting] = both
	}
	return both
}

// dequeue waits for a connection that is due. It reports false when ctx is
// done. Every dequeued connection must be given back to markDone.
func (q *pushQueue[C]) dequeue(ctx context.Context) (C, *pushRequest, bool) {
	for {
		if conn, request, ok := q.tryDequeue(); ok {
			return conn, request, true
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			var none C
			return none, nil, false
		}
	}
}

func (q *pushQueue[C]) tryDequeue() (C, *pushRequest, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var none C
	if len(q.order) == 0 {
		q.order = nil // lets the drained backing array go
		return none, nil, false
	}
	conn := q.order[0]
	q.order[0] = none
	q.order = q.order[1:]
	request := q.pending[conn]
	delete(q.pending, conn)
	q.processing[conn] = nil
	q.wakeLocked()
	return conn, request, true
}

// markDone ends the push of conn and queues what arrived during it.
func (q *pushQueue[C]) markDone(conn C) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.processing[conn]
	delete(q.processing, conn)
	if waiting != nil {
		q.pending[conn] = waiting
		q.order = append(q.order, conn)
		q.wakeLocked()
	}
}

func (q *pushQueue[C]) wakeLocked() {
	if len(q.order) == 0 {
		return
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
