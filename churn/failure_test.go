package churn_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/churn"
)

func TestFailedWritesAreCaughtUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// Two slices per service, so that the next write is often to the other one.
		m := newMesh(t, 6, 150)
		s := prepared(t, m, 10*time.Second, everything()...)
		client := seeded(t, m)
		var writes atomic.Int64
		began := time.Now()
		failing := hookedClient{client, func(_ context.Context, _ *discoveryv1.EndpointSlice) error {
			if writes.Add(1)%3 == 0 && time.Since(began) < 10*time.Second {
				return errInjected
			}
			return nil
		}}
		sink := &recorder{}
		stats, err := run(t.Context(), failing, m, s, sink)
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		for _, got := range sink.ended {
			if got.Err != nil {
				failed++
				if !errors.Is(got.Err, errInjected) || got.Acked == 0 {
					t.Errorf("mutation %d: acked %v, error %v", got.Seq, got.Acked, got.Err)
				}
			}
		}
		if stats.Issued != s.Len() || stats.Failed != failed || failed == 0 || stats.Repairs == 0 || stats.Behind > 0 {
			t.Errorf("%d mutations failed, stats %+v", failed, stats)
		}
		checkContent(t, client, m)
	})
}

func TestSlicesThatStayBehindAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 2, 150)
		down := hookedClient{seeded(t, m), func(_ context.Context, _ *discoveryv1.EndpointSlice) error { return errInjected }}
		s := plan(t, m, 5*time.Second, churn.Spec{Kind: churn.PodDelete, Rate: 10})
		stats, err := run(t.Context(), down, m, s, &recorder{})
		if err != nil {
			t.Fatal(err)
		}
		if stats.Failed != s.Len() || stats.Behind != 4 {
			t.Errorf("stats %+v, want all %d failed and 4 slices behind", stats, s.Len())
		}
	})
}

func TestAConflictIsTriedAgainAsTheSameMutation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 3, 4)
		client := seeded(t, m)
		var mu sync.Mutex
		version := map[string]string{}
		conflicts := 0
		// Another writer touches every slice once, when it has been written twice.
		racing := hookedClient{client, func(_ context.Context, s *discoveryv1.EndpointSlice) error {
			mu.Lock()
			defer mu.Unlock()
			if s.ResourceVersion == "" || version[s.Name] != "" {
				return nil
			}
			version[s.Name] = s.ResourceVersion
			conflicts++
			return apierrors.NewConflict(discoveryv1.Resource("endpointslices"), s.Name, errors.New("changed"))
		}}
		s := plan(t, m, 5*time.Second, churn.Spec{Kind: churn.ReadinessFlap, Rate: 20})
		// The tracker gives no versions of its own; the seeded ones come back.
		sink := &recorder{}
		stats, err := run(t.Context(), versioned{racing}, m, s, sink)
		if err != nil {
			t.Fatal(err)
		}
		if conflicts == 0 || stats.Conflicts != conflicts || stats.Failed > 0 || len(sink.ended) != s.Len() {
			t.Errorf("%d conflicts, %d mutations of %d, stats %+v", conflicts, len(sink.ended), s.Len(), stats)
		}
		checkContent(t, client, m)
	})
}

func TestAConflictThatNeverEndsIsAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 1, 3)
		stuck := hookedClient{seeded(t, m), func(_ context.Context, s *discoveryv1.EndpointSlice) error {
			return apierrors.NewConflict(discoveryv1.Resource("endpointslices"), s.Name, errors.New("changed"))
		}}
		s := plan(t, m, time.Second, churn.Spec{Kind: churn.PodAdd, Rate: 2})
		stats, err := run(t.Context(), stuck, m, s, &recorder{})
		if err != nil || stats.Failed != 2 || stats.Conflicts == 0 {
			t.Errorf("stats %+v, error %v", stats, err)
		}
	})
}

func TestASliceThatIsGoneIsCreatedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 1, 3)
		client := seeded(t, m)
		if err := client.DiscoveryV1().EndpointSlices("xb-0").Delete(t.Context(), "svc-0-0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		stats, err := run(t.Context(), client, m, plan(t, m, time.Second, churn.Spec{Kind: churn.PodAdd, Rate: 2}), &recorder{})
		if err != nil || stats.Failed > 0 {
			t.Errorf("stats %+v, error %v", stats, err)
		}
		checkContent(t, client, m)
	})
}

func TestHungAPIServerDoesNotHoldUpTheEndOfARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 20, 10)
		s := plan(t, m, 20*time.Second, entries(kinds)...)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		sink := &recorder{}
		stats, err := run(ctx, hung{seeded(t, m)}, m, s, sink)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took > 14*time.Second {
			t.Errorf("ended %s after the start, 10s of them before the end of its context", took)
		}
		if stats.Issued == 0 || stats.Failed != stats.Issued || len(sink.ended) != stats.Issued {
			t.Errorf("stats %+v, %d mutations ended", stats, len(sink.ended))
		}
	})
}
