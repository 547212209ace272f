package discovery

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/xdsbench/xdsbench/controlplane/internal/registry"
	"github.com/xdsbench/xdsbench/controlplane/internal/snapshot"
)

func endpointRequest(start time.Time, names ...string) *snapshot.PushRequest {
	return &snapshot.PushRequest{Start: start, Endpoints: sets.New(names...), Reasons: map[string]int{registry.ReasonEndpoint: 1}}
}

func TestWaitingPushesOfAConnectionMerge(t *testing.T) {
	q := newPushQueue[string]()
	first := time.Now()
	q.enqueue(endpointRequest(first, "a"), "one", "two")
	q.enqueue(&snapshot.PushRequest{Full: true, Start: first.Add(time.Second), Reasons: map[string]int{registry.ReasonService: 1}}, "one")
	conn, got, ok := q.dequeue()
	if !ok || conn != "one" {
		t.Fatalf("dequeued %q", conn)
	}
	if !got.Full || !got.Start.Equal(first) || len(got.Endpoints) != 1 || len(got.Reasons) != 2 {
		t.Errorf("merged request is %+v", got)
	}
	if conn, got, _ = q.dequeue(); conn != "two" || got.Full {
		t.Errorf("dequeued %q with Full=%v", conn, got.Full)
	}
}

func TestConnectionIsNotPushedTwiceAtATime(t *testing.T) {
	q := newPushQueue[string]()
	q.enqueue(endpointRequest(time.Now(), "a"), "one")
	if _, _, ok := q.dequeue(); !ok {
		t.Fatal("nothing dequeued")
	}
	q.enqueue(endpointRequest(time.Now(), "b"), "one")
	q.enqueue(endpointRequest(time.Now(), "c"), "one")
	if n := q.waiting.Len(); n != 0 {
		t.Fatalf("%d connections are due while one is being pushed", n)
	}
	q.done("one")
	_, got, ok := q.dequeue()
	if !ok || len(got.Endpoints) != 2 {
		t.Errorf("after the push: %+v", got)
	}
}

func TestConnectionsShareMergedRequests(t *testing.T) {
	q := newPushQueue[string]()
	q.enqueue(endpointRequest(time.Now(), "a"), "one", "two")
	q.enqueue(endpointRequest(time.Now(), "b"), "one", "two")
	_, first, _ := q.dequeue()
	_, second, _ := q.dequeue()
	if first != second {
		t.Error("equal merges are not shared")
	}
}
