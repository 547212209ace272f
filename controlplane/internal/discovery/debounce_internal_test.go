package discovery

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/xdsbench/xdsbench/controlplane/internal/registry"
)

// pushLog records when a debouncer pushed what, as offsets from its start.
type pushLog struct {
	start time.Time
	cost  time.Duration // of each push

	mu     sync.Mutex
	at     []time.Duration
	pushed []*registry.Update
}

func (l *pushLog) push(u *registry.Update) {
	l.mu.Lock()
	l.at = append(l.at, time.Since(l.start))
	l.pushed = append(l.pushed, u)
	l.mu.Unlock()
	time.Sleep(l.cost)
}

// debounced feeds updates every gap to a debouncer, waits, and returns its log.
func debounced(t *testing.T, d *debouncer, cost, gap time.Duration, updates ...*registry.Update) *pushLog {
	t.Helper()
	l := &pushLog{start: time.Now(), cost: cost}
	d.push, d.debounced = l.push, func(time.Duration) {}
	ctx, cancel := context.WithCancel(t.Context())
	incoming := make(chan *registry.Update)
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

func endpoints(n int) []*registry.Update {
	var out []*registry.Update
	for i := range n {
		out = append(out, &registry.Update{
			Endpoints: sets.New(types.NamespacedName{Namespace: "ns", Name: string(rune('a' + i))}),
			Reasons:   map[string]int{registry.ReasonEndpoint: 1},
		})
	}
	return out
}

func serviceUpdate() *registry.Update {
	return &registry.Update{
		Full:     true,
		Services: sets.New(types.NamespacedName{Namespace: "ns", Name: "svc"}),
		Reasons:  map[string]int{registry.ReasonService: 1},
	}
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
		l := debounced(t, &debouncer{after: 100 * ms, max: 10 * time.Second, eds: true}, 0, 50*ms, endpoints(10)...)
		wantTimes(t, l.at, []time.Duration{550 * ms})
		if n := len(l.pushed[0].Endpoints); n != 10 {
			t.Errorf("the push covers %d services, want 10", n)
		}
	})
}

func TestDebounceDoesNotWaitLongerThanItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := debounced(t, &debouncer{after: 100 * ms, max: time.Second, eds: true}, 0, 60*ms, endpoints(20)...)
		// 20 updates take 1140 ms; those after the limit wait for the quiet time.
		wantTimes(t, l.at, []time.Duration{time.Second, 1240 * ms})
	})
}

func TestDebouncedUpdateIsFullIfOneOfItsEventsIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		updates := endpoints(3)
		updates[1] = serviceUpdate()
		l := debounced(t, &debouncer{after: 100 * ms, max: time.Second, eds: true}, 0, 10*ms, updates...)
		if len(l.pushed) != 1 || !l.pushed[0].Full || len(l.pushed[0].Endpoints) != 2 || len(l.pushed[0].Services) != 1 {
			t.Errorf("pushed %+v", l.pushed)
		}
		if l.pushed[0].Reasons[registry.ReasonEndpoint] != 2 || l.pushed[0].Reasons[registry.ReasonService] != 1 {
			t.Errorf("reasons %v", l.pushed[0].Reasons)
		}
	})
}

func TestUpdatesDuringAPushWaitForItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := debounced(t, &debouncer{after: 10 * ms, max: time.Second, eds: true}, 300*ms, 50*ms, endpoints(4)...)
		wantTimes(t, l.at, []time.Duration{10 * ms, 310 * ms})
		if n := len(l.pushed[1].Endpoints); n != 3 {
			t.Errorf("the second push covers %d services, want 3", n)
		}
	})
}

func TestEndpointUpdatesPassAtOnceWithoutEDSDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		updates := append(endpoints(2), serviceUpdate())
		l := debounced(t, &debouncer{after: 100 * ms, max: time.Second}, 0, 10*ms, updates...)
		wantTimes(t, l.at, []time.Duration{0, 10 * ms, 120 * ms})
	})
}
