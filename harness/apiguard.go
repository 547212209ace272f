package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ErrNoAnswer marks the errors of requests that the API server did not answer in
// time. Whether it carried them out is not known.
var ErrNoAnswer = errors.New("the API server did not answer")

// apiGuard bounds every request to a real API server, whatever context it is made
// with, and keeps account of those that got no answer.
type apiGuard struct {
	next http.RoundTripper

	mu sync.Mutex // guards all below
	// session ends all requests that are under way, and fails later ones, when it ends;
	// endSession ends it.
	session    context.Context
	endSession context.CancelFunc
	// since is when the first request was made that got no answer, if none was
	// answered after it; reads and writes count such requests.
	since         time.Time
	reads, writes int
	answered      time.Time // when the latest answer came
}

func newAPIGuard(next http.RoundTripper) *apiGuard {
	return &apiGuard{next: next, session: context.Background(), endSession: func() {}}
}

var _ http.RoundTripper = (*apiGuard)(nil)

// begin ends the requests that are under way. Those from now on last no longer than ctx.
func (g *apiGuard) begin(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endSession()
	g.session, g.endSession = context.WithCancel(ctx)
}

// RoundTrip makes one request. Its body has the rest of the time, until it is closed.
func (g *apiGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	limit := limitOf(req)
	ctx, cancel := context.WithTimeout(req.Context(), limit)
	g.mu.Lock()
	forget := context.AfterFunc(g.session, cancel) //nolint:contextcheck // ends the request too
	g.mu.Unlock()
	end := func() {
		forget()
		cancel()
	}
	began := time.Now()
	resp, err := g.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		// One that its caller gave up early says nothing.
		if waited := time.Since(began); ctx.Err() != nil && (req.Context().Err() == nil || waited >= silenceAfter) {
			g.unanswered(began, req.Method != http.MethodGet)
			err = fmt.Errorf("%w within %s: %w", ErrNoAnswer, waited.Round(100*time.Millisecond), err)
		}
		end()
		return nil, err
	}
	g.hasAnswered()
	resp.Body = &endingBody{ReadCloser: resp.Body, end: end}
	return resp, nil
}

// limitOf returns how long a request may take: the deletion of a collection names no
// object, such as /api/v1/namespaces/NAME/pods.
func limitOf(req *http.Request) time.Duration {
	if segments := strings.Split(strings.Trim(req.URL.Path, "/"), "/"); req.Method == http.MethodDelete {
		for i, s := range segments {
			if s == "namespaces" && len(segments) == i+3 {
				return sweepLimit
			}
		}
	}
	return requestLimit
}

// endingBody calls end when it is closed.
type endingBody struct {
	io.ReadCloser
	end func()
}

func (b *endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

func (g *apiGuard) unanswered(began time.Time, write bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if began.Before(g.answered) {
		began = g.answered // it answered others meanwhile
	}
	if g.since.IsZero() || began.Before(g.since) {
		g.since = began
	}
	if write {
		g.writes++
	} else {
		g.reads++
	}
}

func (g *apiGuard) hasAnswered() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answered, g.since = time.Now(), time.Time{}
	g.reads, g.writes = 0, 0
}

// silence returns since when the API server has not answered, and how many reads and
// writes; a zero time if the latest request was answered.
func (g *apiGuard) silence() (since time.Time, reads, writes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.since, g.reads, g.writes
}

// WrappedRoundTripper is for client-go, which looks for the idle connections below.
func (g *apiGuard) WrappedRoundTripper() http.RoundTripper { return g.next }
