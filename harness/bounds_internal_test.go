package harness

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/xdsbench/xdsbench/profiles"
)

// ends returns how long a context lasts.
func ends(ctx context.Context) time.Duration {
	began := time.Now()
	<-ctx.Done()
	return time.Since(began)
}

func TestWhatOutlivesAnInterruptHasTheGraceFromThenOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent, interrupt := context.WithCancel(t.Context())
		ctx, cancel := outlive(parent, time.Minute, 2*time.Second)
		defer cancel()
		time.AfterFunc(5*time.Second, interrupt)
		if took := ends(ctx); took != 7*time.Second {
			t.Errorf("it ended after %s, want 2 s after the interrupt at 5 s", took)
		}
		late, cancel := outlive(parent, time.Minute, 2*time.Second)
		defer cancel()
		if took := ends(late); took != 2*time.Second {
			t.Errorf("what begins after the interrupt ended after %s, want 2 s", took)
		}
	})
}

func TestWhatOutlivesAnInterruptHasALimitWithoutOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := outlive(t.Context(), 3*time.Second, time.Hour)
		defer cancel()
		if took := ends(ctx); took != 3*time.Second || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("it ended after %s: %v", took, context.Cause(ctx))
		}
		done, cancel := outlive(t.Context(), 0, 0)
		cancel()
		if took := ends(done); took != 0 {
			t.Errorf("one that is done ended after %s", took)
		}
	})
}

func TestRunLimitIsMoreThanAllPhasesTogether(t *testing.T) {
	t.Parallel()
	for _, steady := range []time.Duration{time.Second, time.Hour} {
		p := profiles.Default()
		p.Phases.Steady.Duration = steady
		limit := runLimit(&p)
		if phases := p.ReadyTimeout() + p.Phases.Warmup.Duration + 2*steady + p.Phases.Drain.Duration; limit < phases {
			t.Errorf("%s for phases of %s", limit, phases)
		}
	}
}

func TestErrorOfAPhaseIsDroppedOnlyIfItWasInterrupted(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	if err := unlessInterrupted(t.Context(), failed); !errors.Is(err, failed) {
		t.Errorf("without an interrupt: %v", err)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if err := unlessInterrupted(interrupted, failed); err != nil {
		t.Errorf("interrupted: %v", err)
	}
	tooLong, cancel := context.WithTimeoutCause(t.Context(), 0, errRunLimit)
	defer cancel()
	<-tooLong.Done()
	if err := unlessInterrupted(tooLong, failed); !errors.Is(err, errRunLimit) || !errors.Is(err, failed) {
		t.Errorf("out of time: %v", err)
	}
}

// overrunning returns a run whose steady load lasts for ten seconds.
func overrunning(guard *apiGuard) *run {
	p := profiles.Default()
	p.Phases.Steady.Duration = 10 * time.Second
	return &run{cfg: Config{Profile: &p}, kube: &kube{client: (*kubernetes.Clientset)(nil), guard: guard}}
}

func TestLateMutationsAreIssuedForAWhileAfterTheSchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := overrunning(nil).limitOverrun(t.Context())
		defer end()
		if took := ends(ctx); took != 10*time.Second+time.Minute || !errors.Is(context.Cause(ctx), errOverrun) {
			t.Errorf("given up after %s: %v", took, context.Cause(ctx))
		}
	})
}

func TestLateMutationsAreGivenUpIfTheAPIServerIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard := newAPIGuard(transport{answer: never})
		ctx, end := overrunning(guard).limitOverrun(t.Context())
		defer end()
		time.Sleep(5 * time.Second)
		guard.unanswered(time.Now(), true)
		if took := ends(ctx); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("given up %s after the last answer, want 10 s", took)
		}
		synctest.Wait()
		if took := lasts(func() { _ = call(t.Context(), guard, http.MethodPut, "/api/v1/pods/a") }); took != 0 {
			t.Errorf("a further request was waited for: %s", took)
		}
	})
}

func TestChurnThatIsDoneNeedsNoLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, end := overrunning(nil).limitOverrun(t.Context())
		time.Sleep(time.Second)
		end()
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s", took)
		}
	})
}
