package discovery

import (
	"sync"

	"k8s.io/client-go/util/workqueue"

	"github.com/xdsbench/xdsbench/controlplane/internal/snapshot"
)

// pushQueue holds the connections that wait for a push, first come first
// served. A connection is in it at most once: a further push merges into the
// one that waits. While a connection is being pushed it is not handed out
// again; what arrives meanwhile waits for done.
type pushQueue[C comparable] struct {
	waiting *workqueue.Typed[C]

	mu       sync.Mutex
	requests map[C]*snapshot.PushRequest
}

func newPushQueue[C comparable]() *pushQueue[C] {
	return &pushQueue[C]{
		waiting:  workqueue.NewTyped[C](),
		requests: make(map[C]*snapshot.PushRequest),
	}
}

// enqueue adds request for every one of conns. Connections that wait with the
// same request, as most do under load, share the merged one.
func (q *pushQueue[C]) enqueue(request *snapshot.PushRequest, conns ...C) {
	q.mu.Lock()
	defer q.mu.Unlock()
	merged := make(map[*snapshot.PushRequest]*snapshot.PushRequest)
	for _, conn := range conns {
		waiting := q.requests[conn]
		if waiting == nil {
			q.requests[conn] = request
		} else {
			if merged[waiting] == nil {
				merged[waiting] = waiting.Merge(request)
			}
			q.requests[conn] = merged[waiting]
		}
		q.waiting.Add(conn)
	}
}

// dequeue waits for a connection that is due. It reports false after shutDown.
// Every dequeued connection must be given back to done.
func (q *pushQueue[C]) dequeue() (C, *snapshot.PushRequest, bool) {
	for {
		conn, stopped := q.waiting.Get()
		if stopped {
			return conn, nil, false
		}
		q.mu.Lock()
		request := q.requests[conn]
		delete(q.requests, conn)
		q.mu.Unlock()
		if request != nil {
			return conn, request, true
		}
		// The last request came after Get had returned the connection, and was taken
		// with the one before: the connection was queued again for nothing.
		q.done(conn)
	}
}

// done ends the push of conn; what arrived meanwhile is now due.
func (q *pushQueue[C]) done(conn C) { q.waiting.Done(conn) }

// shutDown makes dequeue report false once the queue is empty.
func (q *pushQueue[C]) shutDown() { q.waiting.ShutDown() }
