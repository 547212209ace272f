package churn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/mesh"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder keeps the mutations in the order in which they ended.
type recorder struct {
	mu    sync.Mutex
	begun map[uint64]bool
	ended []*event.Mutation
	begin func(*event.Mutation)
}

var _ churn.Sink = (*recorder)(nil)

func (r *recorder) Begin(m *event.Mutation) {
	if r.begin != nil {
		r.begin(m)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun == nil {
		r.begun = map[uint64]bool{}
	}
	r.begun[m.Seq] = m.Issued != 0 && m.Acked == 0
}

func (r *recorder) End(m *event.Mutation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, m)
}

// run runs the schedule within a synctest bubble; it starts after the lead that
// companion writes have.
func run(ctx context.Context, client kubernetes.Interface, m *mesh.Mesh, s *churn.Schedule, sink churn.Sink) (churn.Stats, error) {
	clock := event.NewClock()
	return churn.Run(ctx, churn.Config{
		Client: client, Schedule: s, Mesh: m, Sink: sink,
		Clock: clock, Start: clock.Now().Add(time.Second), Workers: 4,
	})
}

// checkContent holds what the API server has against the mesh.
func checkContent(t *testing.T, client kubernetes.Interface, m *mesh.Mesh) {
	t.Helper()
	list, err := client.DiscoveryV1().EndpointSlices("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]discoveryv1.EndpointSlice{}
	for _, s := range list.Items {
		got[s.Namespace+"/"+s.Name] = s
	}
	podList, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods := map[string]*corev1.Pod{}
	for i := range podList.Items {
		pods[podList.Items[i].Namespace+"/"+podList.Items[i].Name] = &podList.Items[i]
	}
	endpoints := 0
	for s := range m.All() {
		for i, want := range s.Slices() {
			held := got[s.SliceKey(i)]
			delete(got, s.SliceKey(i))
			if diff := cmp.Diff(want.Endpoints, held.Endpoints, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("slice %s (-mesh +API server):\n%s", s.SliceKey(i), diff)
			}
			endpoints += len(want.Endpoints)
			for _, e := range want.Endpoints {
				pod := pods[e.TargetRef.Namespace+"/"+e.TargetRef.Name]
				if pod == nil || pod.Status.PodIP != e.Addresses[0] || pod.Status.Phase != corev1.PodRunning {
					t.Errorf("slice %s: endpoint %s has no running pod", s.SliceKey(i), e.TargetRef.Name)
				}
			}
		}
	}
	if len(got) > 0 || len(pods) != endpoints {
		t.Errorf("%d slices too many; %d pods for %d endpoints", len(got), len(pods), endpoints)
	}
}

func TestRunMakesEveryWriteAtItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 12, 5)
		s := prepared(t, m, 10*time.Second, everything()...)
		client := seeded(t, m)
		sink := &recorder{}
		stats, err := run(t.Context(), client, m, s, sink)
		if err != nil {
			t.Fatal(err)
		}
		if stats.Scheduled != s.Len() || stats.Issued != s.Len() || stats.Failed+stats.Behind+stats.CompanionFailed+stats.Conflicts > 0 {
			t.Errorf("stats %+v of %d steps", stats, s.Len())
		}
		slices.SortFunc(sink.ended, func(a, b *event.Mutation) int { return int(a.Seq) - int(b.Seq) })
		for i, got := range sink.ended {
			want := s.Steps[i]
			if got.Seq != want.Seq || got.Op != want.Op || got.Kind != want.Kind || got.Step != want.Name ||
				got.Service != want.Service || got.Object != want.Object || !sink.begun[got.Seq] {
				t.Errorf("mutation %+v, planned %+v", got, want)
			}
			// In the bubble no time passes unless all wait, so any lateness is ours.
			if got.Issued != got.Scheduled || got.Acked < got.Issued {
				t.Errorf("mutation %d: intended %v, issued %v, acked %v", got.Seq, got.Scheduled, got.Issued, got.Acked)
			}
			if i > 0 && got.Scheduled.Sub(sink.ended[0].Scheduled) != want.Offset-s.Steps[0].Offset {
				t.Errorf("mutation %d intended at %v, offset %v", got.Seq, got.Scheduled, want.Offset)
			}
		}
		checkContent(t, client, m)
	})
}

func TestStatesAreThoseOfTheSlicesInTheAPIServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 24, 5)
		s := prepared(t, m, 10*time.Second, everything()...)
		client := seeded(t, m)
		shown := map[event.ResourceState]bool{}
		states := map[event.ResourceState]event.Fingerprint{} // by type and name
		show := func(r event.Expected) (changed bool) {
			key := event.ResourceState{Type: r.Type, Name: r.Name}
			was, known := states[key]
			states[key] = r.State
			return !known || was != r.State
		}
		for s := range m.All() {
			for _, r := range s.Resources() {
				show(r)
				shown[r.ResourceState] = true
			}
		}
		for _, r := range s.Baseline() {
			if !shown[r.ResourceState] {
				t.Errorf("the baseline has %v, the mesh has not", r.ResourceState)
			}
		}
		sink := &recorder{}
		if _, err := run(t.Context(), client, m, s, sink); err != nil {
			t.Fatal(err)
		}
		noop := map[string]int{}
		for _, mu := range sink.ended {
			changed := false
			for _, r := range mu.States {
				changed = show(r) || changed
				if !slices.Contains(s.Types(), r.Type) {
					t.Errorf("mutation %d announces %s, Types says %v", mu.Seq, r.Type, s.Types())
				}
			}
			if mu.Noop() {
				noop[mu.Step]++
			} else if !changed {
				t.Errorf("mutation %d (%s, %s) announces the states that %s had", mu.Seq, mu.Kind, mu.Step, mu.Service)
			}
		}
		for s := range m.All() {
			for _, r := range s.Resources() {
				key := event.ResourceState{Type: r.Type, Name: r.Name}
				if states[key] != r.State {
					t.Errorf("%s %s: last announced as %d, is %d", r.Type, r.Name, states[key], r.State)
				}
				delete(states, key)
			}
		}
		for key, state := range states {
			if state != event.Absent {
				t.Errorf("%s %s was announced, and is not in the mesh", key.Type, key.Name)
			}
		}
		if noop["removal"] == 0 || noop["terminating"]+noop["unready"]+noop["ready"]+noop["crash"] > 0 {
			t.Errorf("no-op steps %v: want removals, and additions of a rollout", noop)
		}
		checkContent(t, client, m)
	})
}

func TestServicesKeepAUsableEndpointAndTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 4, 2)
		s := plan(t, m, 20*time.Second, keepingOneUsable()...)
		last := map[string]uint64{}
		var mu sync.Mutex
		sink := &recorder{begin: func(got *event.Mutation) {
			if len(m.Service(got.Service).Ready()) == 0 {
				t.Errorf("mutation %d (%s) leaves %s empty", got.Seq, got.Step, got.Service)
			}
			mu.Lock()
			defer mu.Unlock()
			if last[got.Service] >= got.Seq {
				t.Errorf("%s: mutation %d after %d", got.Service, got.Seq, last[got.Service])
			}
			last[got.Service] = got.Seq
		}}
		if _, err := run(t.Context(), slow(seeded(t, m), 20*time.Millisecond), m, s, sink); err != nil {
			t.Fatal(err)
		}
	})
}

func TestASlowAPIServerMakesWritesLateAndDropsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 2, 3)
		client := seeded(t, m)
		// 10 writes per second to one service that takes 200 ms for each.
		s := plan(t, m, 4*time.Second, churn.Spec{Kind: churn.PodAdd, Rate: 10, Target: "hot"})
		sink := &recorder{}
		stats, err := run(t.Context(), slow(client, 200*time.Millisecond), m, s, sink)
		if err != nil {
			t.Fatal(err)
		}
		if stats.Issued != 40 || len(sink.ended) != 40 {
			t.Errorf("%d of 40 writes issued, %d ended", stats.Issued, len(sink.ended))
		}
		for i, got := range sink.ended {
			if late := got.Issued.Sub(got.Scheduled); late != time.Duration(i)*100*time.Millisecond {
				t.Errorf("write %d is %v late, want %v", i, late, time.Duration(i)*100*time.Millisecond)
			}
		}
		checkContent(t, client, m)
	})
}

func TestOneSlowServiceDoesNotDelayAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 2, 3)
		client := hookedClient{seeded(t, m), func(_ context.Context, s *discoveryv1.EndpointSlice) error {
			if strings.HasPrefix(s.Name, "svc-0-") {
				time.Sleep(time.Second)
			}
			return nil
		}}
		sink := &recorder{}
		if _, err := run(t.Context(), client, m, plan(t, m, 4*time.Second, churn.Spec{Kind: churn.PodAdd, Rate: 10}), sink); err != nil {
			t.Fatal(err)
		}
		for _, got := range sink.ended {
			if got.Service == m.Services[1].Key() && got.Issued != got.Scheduled {
				t.Errorf("%s: write %d is %v late", got.Service, got.Seq, got.Issued.Sub(got.Scheduled))
			}
		}
	})
}

func TestPodsAreThereBeforeTheirEndpointsAndGoAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 3, 4)
		client := seeded(t, m)
		checked := hookedClient{client, func(_ context.Context, s *discoveryv1.EndpointSlice) error {
			for _, e := range s.Endpoints {
				pod, err := client.CoreV1().Pods(s.Namespace).Get(t.Context(), e.TargetRef.Name, metav1.GetOptions{})
				if err != nil || pod.Status.PodIP != e.Addresses[0] {
					t.Errorf("slice %s refers to pod %s: %v", s.Name, e.TargetRef.Name, err)
				}
			}
			return nil
		}}
		stats, err := run(t.Context(), checked, m, plan(t, m, 10*time.Second,
			churn.Spec{Kind: churn.RollingUpdate, Rate: 10}, churn.Spec{Kind: churn.ScaleUp, Rate: 1}), &recorder{})
		if err != nil {
			t.Fatal(err)
		}
		if stats.CompanionWrites == 0 || stats.CompanionFailed > 0 {
			t.Errorf("stats %+v", stats)
		}
		checkContent(t, client, m)
	})
}

func TestCancellingStopsIssuing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 6, 5)
		s := prepared(t, m, 20*time.Second, everything()...)
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		sink := &recorder{}
		began := time.Now()
		stats, err := run(ctx, slow(seeded(t, m), 50*time.Millisecond), m, s, sink)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took > 6*time.Second+50*time.Millisecond {
			t.Errorf("stopped after %v", took)
		}
		if stats.Issued == 0 || stats.Issued == s.Len() || stats.Issued != len(sink.ended) || stats.Failed > 0 {
			t.Errorf("%d mutations ended, stats %+v", len(sink.ended), stats)
		}
	})
}

func TestAScheduleRunsOnceAndOnItsOwnMesh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 30, 4)
		client := seeded(t, m)
		s := plan(t, m, 2*time.Second, churn.Spec{Kind: churn.PodDelete, Rate: 20})
		if _, err := run(t.Context(), client, newMesh(t, 1, 4), s, &recorder{}); err == nil || !strings.Contains(err.Error(), "not in the mesh") {
			t.Errorf("another mesh: error %v", err)
		}
		if _, err := run(t.Context(), client, m, s, &recorder{}); err != nil {
			t.Fatal(err)
		}
		if _, err := run(t.Context(), client, m, s, &recorder{}); err == nil || !strings.Contains(err.Error(), "not possible") {
			t.Errorf("second run: error %v", err)
		}
		// A schedule planned after the first has run takes up where that ended.
		more := plan(t, m, 2*time.Second, churn.Spec{Kind: churn.PodAdd, Rate: 20})
		if stats, err := run(t.Context(), client, m, more, &recorder{}); err != nil || stats.CompanionFailed > 0 {
			t.Errorf("next schedule: %+v, %v", stats, err)
		}
		checkContent(t, client, m)
	})
	if _, err := churn.Run(t.Context(), churn.Config{}); err == nil {
		t.Error("an empty config runs")
	}
}
