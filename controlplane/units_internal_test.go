package controlplane

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// pushLog records when a debouncer pushed what, as offsets from its start.
type pushLog struct {
	start time.Time
	cost  time.Duration // of each push

	mu     sync.Mutex
	at     []time.Duration
	pushed []*update
}

func (l *pushLog) push(u *update) {
	l.mu.Lock()
	l.at = append(l.at, time.Since(l.start))
	l.pushed = append(l.pushed, u)
	l.mu.Unlock()
	time.Sleep(l.cost)
}

// debounced feeds updates every gap to a debouncer, waits, and returns its log.
func debounced(t *testing.T, d *debouncer, cost, gap time.Duration, updates ...*update) *pushLog {
	t.Helper()
	l := &pushLog{start: time.Now(), cost: cost}
	d.push = l.push
	ctx, cancel := context.WithCancel(t.Context())
	incoming := make(chan *update)
	var wg sync.WaitGroup
	wg.Go(func() { d.run(ctx, incoming) })
	for i, u := range updates {
		if i > 0 {
			time.Sleep(gap)
		}
		incoming <- u
	}
	time.Sleep(time.Minute)
	cancel()
	wg.Wait()
	return l
}

func endpoints(n int) []*update {
	var out []*update
	for i := range n {
		out = append(out, endpointUpdate(reasonEndpoint, serviceKey{"ns", string(rune('a' + i))}))
	}
	return out
}

const ms = time.Millisecond

func wantTimes(t *testing.T, got, want []time.Duration) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("pushes at %v, want %v", got, want)
	}
}

func TestDebounceWaitsForQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := debounced(t, &debouncer{after: 100 * ms, limit: 10 * time.Second, eds: true}, 0, 50*ms, endpoints(10)...)
		wantTimes(t, l.at, []time.Duration{550 * ms})
		if n := len(l.pushed[0].endpoints); n != 10 {
			t.Errorf("the push covers %d services, want 10", n)
		}
	})
}

func TestDebounceDoesNotWaitLongerThanItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := debounced(t, &debouncer{after: 100 * ms, limit: time.Second, eds: true}, 0, 60*ms, endpoints(20)...)
		// 20 updates take 1140 ms; those after the limit wait for their quiet.
		wantTimes(t, l.at, []time.Duration{time.Second, 1240 * ms})
	})
}

func TestDebouncedUpdateIsFullIfOneOfItsEventsIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		updates := endpoints(3)
		updates[1] = serviceUpdate(reasonService, serviceKey{"ns", "svc"})
		l := debounced(t, &debouncer{after: 100 * ms, limit: time.Second, eds: true}, 0, 10*ms, updates...)
		if len(l.pushed) != 1 || !l.pushed[0].full || len(l.pushed[0].endpoints) != 2 || len(l.pushed[0].services) != 1 {
			t.Errorf("pushed %+v", l.pushed)
		}
		if l.pushed[0].reasons[reasonEndpoint] != 2 || l.pushed[0].reasons[reasonService] != 1 {
			t.Errorf("reasons %v", l.pushed[0].reasons)
		}
	})
}

func TestUpdatesDuringAPushWaitForItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := debounced(t, &debouncer{after: 10 * ms, limit: time.Second, eds: true}, 300*ms, 50*ms, endpoints(4)...)
		wantTimes(t, l.at, []time.Duration{10 * ms, 310 * ms})
		if n := len(l.pushed[1].endpoints); n != 3 {
			t.Errorf("the second push covers %d services, want 3", n)
		}
	})
}

func TestEndpointUpdatesPassAtOnceWithoutEDSDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		updates := append(endpoints(2), serviceUpdate(reasonService, serviceKey{"ns", "svc"}))
		l := debounced(t, &debouncer{after: 100 * ms, limit: time.Second}, 0, 10*ms, updates...)
		wantTimes(t, l.at, []time.Duration{0, 10 * ms, 120 * ms})
	})
}

func endpointRequest(start time.Time, names ...string) *pushRequest {
	return &pushRequest{start: start, endpoints: setOf(names...), reasons: map[string]int{reasonEndpoint: 1}}
}

func TestWaitingPushesOfAConnectionMerge(t *testing.T) {
	q := newPushQueue[string]()
	first := time.Now()
	q.enqueue(endpointRequest(first, "a"), "one", "two")
	q.enqueue(&pushRequest{full: true, start: first.Add(time.Second), reasons: map[string]int{reasonService: 1}}, "one")
	conn, got, ok := q.dequeue(t.Context())
	if !ok || conn != "one" {
		t.Fatalf("dequeued %q", conn)
	}
	if !got.full || !got.start.Equal(first) || len(got.endpoints) != 1 || len(got.reasons) != 2 {
		t.Errorf("merged request is %+v", got)
	}
	if conn, got, _ = q.dequeue(t.Context()); conn != "two" || got.full {
		t.Errorf("dequeued %q with full=%v", conn, got.full)
	}
}

func TestConnectionIsNotPushedTwiceAtATime(t *testing.T) {
	q := newPushQueue[string]()
	q.enqueue(endpointRequest(time.Now(), "a"), "one")
	if _, _, ok := q.dequeue(t.Context()); !ok {
		t.Fatal("nothing dequeued")
	}
	q.enqueue(endpointRequest(time.Now(), "b"), "one")
	q.enqueue(endpointRequest(time.Now(), "c"), "one")
	ctx, cancel := context.WithTimeout(t.Context(), 20*ms)
	defer cancel()
	if _, _, ok := q.dequeue(ctx); ok {
		t.Fatal("dequeued a connection that is being pushed")
	}
	q.markDone("one")
	_, got, ok := q.dequeue(t.Context())
	if !ok || len(got.endpoints) != 2 {
		t.Errorf("after the push: %+v", got)
	}
}

func TestConnectionsShareMergedRequests(t *testing.T) {
	q := newPushQueue[string]()
	q.enqueue(endpointRequest(time.Now(), "a"), "one", "two")
	q.enqueue(endpointRequest(time.Now(), "b"), "one", "two")
	_, first, _ := q.dequeue(t.Context())
	_, second, _ := q.dequeue(t.Context())
	if first != second {
		t.Error("equal merges are not shared")
	}
}

func TestEqualSubscriptionsShareASet(t *testing.T) {
	in := newInterner()
	a := in.of([]string{"x", "y", "z"})
	b := in.of([]string{"z", "x", "y"})
	if a != b {
		t.Error("the order of names matters")
	}
	c := in.of([]string{"x", "y"})
	if c == a || c.has("z") || !c.has("x") || len(c.without(a)) != 0 || !slices.Equal(a.without(c), []string{"z"}) {
		t.Errorf("a smaller subscription is %v", c.names)
	}
	in.release(a, b, nil)
	if len(in.sets) != 1 {
		t.Errorf("%d sets are kept, want 1", len(in.sets))
	}
	in.release(c)
	if len(in.sets) != 0 {
		t.Errorf("%d sets are kept, want none", len(in.sets))
	}
}

func TestRequestsDecodeAsTheyWouldWithoutTheShortWay(t *testing.T) {
	request := &discovery.DiscoveryRequest{
		VersionInfo: "v", Node: &core.Node{Id: "n"}, ResourceNames: []string{"b", "a", "b"}, TypeUrl: typeEDS.url(),
		ResponseNonce: "7", ErrorDetail: &rpcstatus.Status{Code: 3, Message: "m"},
	}
	data, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	in := &incoming{interner: newInterner()}
	if err := in.parse(data); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(in.names.names, []string{"a", "b"}) {
		t.Errorf("names %v", in.names.names)
	}
	request.ResourceNames = nil
	if !proto.Equal(in.request, request) {
		t.Errorf("got %v, want %v", in.request, request)
	}
	for cut := range data {
		short := &incoming{interner: in.interner}
		err := short.parse(data[:cut])
		if want := proto.Unmarshal(data[:cut], &discovery.DiscoveryRequest{}); (err == nil) != (want == nil) {
			t.Errorf("cut to %d bytes: error %v, want one as %v", cut, err, want)
		}
	}
}

func TestNameThatIsNoTextIsRefused(t *testing.T) {
	data := protowire.AppendBytes(protowire.AppendTag(nil, namesField, protowire.BytesType), []byte{0xff})
	if err := (&incoming{interner: newInterner()}).parse(data); !errors.Is(err, errBadRequest) {
		t.Errorf("error %v", err)
	}
}

func TestAutomaticThrottleIsIstiods(t *testing.T) {
	for procs, want := range map[int]int{1: 20, 2: 25, 4: 35, 17: 100, 64: 100} {
		if got := autoThrottle(procs); got != want {
			t.Errorf("throttle for %d processors is %d, want %d", procs, got, want)
		}
	}
}
