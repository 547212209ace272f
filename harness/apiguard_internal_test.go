package harness

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// transport answers the requests that answer is true of, and leaves the others until
// their context ends.
type transport struct {
	answer func(*http.Request) bool
	body   func(*http.Request) io.ReadCloser // nil for an empty one
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.answer(r) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: http.NoBody, Request: r}
	if t.body != nil {
		resp.Body = t.body(r)
	}
	return resp, nil
}

func never(*http.Request) bool  { return false }
func always(*http.Request) bool { return true }

// call makes one request, and reads and closes its body.
func call(ctx context.Context, g *apiGuard, method, path string) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://api"+path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := g.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.ReadAll(resp.Body)
	return errors.Join(err, resp.Body.Close())
}

func TestEachRequestHasABound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, path string
		want         time.Duration
	}{
		{http.MethodGet, "/api/v1/namespaces", requestLimit},
		{http.MethodPut, "/apis/discovery.k8s.io/v1/namespaces/xb-0/endpointslices/svc-1", requestLimit},
		{http.MethodDelete, "/api/v1/namespaces/xb-0", requestLimit},
		{http.MethodDelete, "/api/v1/namespaces/xb-0/pods/one", requestLimit},
		{http.MethodDelete, "/api/v1/nodes/one", requestLimit},
		{http.MethodDelete, "/api/v1/namespaces/xb-0/pods", sweepLimit},
		{http.MethodDelete, "/prefix/apis/discovery.k8s.io/v1/namespaces/xb-0/endpointslices", sweepLimit},
	} {
		t.Run(test.method+test.path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newAPIGuard(transport{answer: never})
				var err error
				// As churn makes its writes: no context ends them.
				took := lasts(func() { err = call(context.WithoutCancel(t.Context()), g, test.method, test.path) })
				if took != test.want || !errors.Is(err, ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %s, want %s: %v", took, test.want, err)
				}
				since, reads, writes := g.silence()
				if time.Since(since) != test.want || reads+writes != 1 || (reads == 1) != (test.method == http.MethodGet) {
					t.Errorf("silent since %s, %d reads, %d writes", time.Since(since), reads, writes)
				}
			})
		})
	}
}

func TestBodyThatStopsHasTheSameBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newAPIGuard(transport{answer: always, body: func(r *http.Request) io.ReadCloser { return stalled{r.Context()} }})
		var err error
		if took := lasts(func() { err = call(t.Context(), g, http.MethodGet, "/api/v1/pods") }); took != requestLimit || err == nil {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

// stalled is a body of which nothing comes.
type stalled struct{ ctx context.Context }

func (b stalled) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}
func (stalled) Close() error { return nil }

func TestEndOfASessionEndsTheRequestsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newAPIGuard(transport{answer: never})
		session, end := context.WithCancel(t.Context())
		g.begin(session)
		time.AfterFunc(2*time.Second, end)
		var err error
		if took := lasts(func() { err = call(t.Context(), g, http.MethodPut, "/api/v1/pods/a") }); took != 2*time.Second || !errors.Is(err, ErrNoAnswer) {
			t.Errorf("after %s: %v", took, err)
		}
		if took := lasts(func() { err = call(t.Context(), g, http.MethodPut, "/api/v1/pods/a") }); took != 0 || err == nil {
			t.Errorf("one after it: after %s: %v", took, err)
		}
		g.begin(t.Context())
		g.next = transport{answer: always}
		if err = call(t.Context(), g, http.MethodDelete, "/api/v1/pods/a"); err != nil {
			t.Errorf("one in the next session: %v", err)
		}
	})
}

func TestNextSessionEndsTheRequestsOfTheOneBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newAPIGuard(transport{answer: never})
		g.begin(t.Context())
		time.AfterFunc(time.Second, func() { g.begin(t.Context()) })
		if took := lasts(func() { _ = call(t.Context(), g, http.MethodPut, "/api/v1/pods/a") }); took != time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestRequestThatItsCallerGivesUpEarlySaysNothingOfTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newAPIGuard(transport{answer: never})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := call(ctx, g, http.MethodGet, "/api/v1/pods"); err == nil || errors.Is(err, ErrNoAnswer) {
			t.Errorf("after a second: %v", err)
		}
		if since, _, _ := g.silence(); !since.IsZero() {
			t.Error("the API server counts as silent")
		}
		ctx, cancel = context.WithTimeout(t.Context(), silenceAfter)
		defer cancel()
		if err := call(ctx, g, http.MethodGet, "/api/v1/pods"); !errors.Is(err, ErrNoAnswer) {
			t.Errorf("after %s: %v", silenceAfter, err)
		}
	})
}

func TestAPIServerThatAnswersOtherRequestsIsNotSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newAPIGuard(transport{answer: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/pods") }})
		k := &kube{guard: g}
		_ = call(t.Context(), g, http.MethodPut, "/api/v1/pods/a")
		if !k.silent(silenceAfter) {
			t.Error("not silent after 10 s")
		}
		if err := call(t.Context(), g, http.MethodGet, "/api/v1/pods"); err != nil {
			t.Fatal(err)
		}
		if k.silent(0) {
			t.Error("silent after an answer")
		}
		if (&kube{}).silent(0) {
			t.Error("the in-memory API server is silent")
		}
	})
}

// TestSilenceBeginsAtTheLastAnswer has a request time out
// that was made before others were answered.
func TestSilenceBeginsAtTheLastAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newAPIGuard(transport{answer: func(r *http.Request) bool { return r.Method == http.MethodGet }})
		done := make(chan error)
		go func() { done <- call(t.Context(), g, http.MethodPut, "/api/v1/pods/a") }()
		time.Sleep(4 * time.Second)
		if err := call(t.Context(), g, http.MethodGet, "/api/v1/pods"); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, ErrNoAnswer) {
			t.Errorf("the write: %v", err)
		}
		if since, _, writes := g.silence(); time.Since(since) != 6*time.Second || writes != 1 {
			t.Errorf("silent for %s, %d writes", time.Since(since), writes)
		}
	})
}
