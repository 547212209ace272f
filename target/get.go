package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"time"
)

// What is read at most of an answer, in bytes.
const (
	// shortSize is for a page of a few words, such as the version.
	shortSize = 64 << 10
	// pageSize is for the metrics of a large control plane, and its syncz page for
	// tens of thousands of proxies: a few megabytes.
	pageSize    = 64 << 20
	profileSize = 256 << 20
	errorSize   = 4 << 10
)

// newClient returns the client for the calls to a target: to loopback or a stated
// address, a few a minute. So it uses no proxy, and leaves no idle connection for
// the target to hold.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

// page returns the body of a page, which must come within Config.CallTimeout.
func (r *Replica) page(ctx context.Context, url string, size int64) ([]byte, error) {
	return r.get(ctx, url, size, r.cfg.CallTimeout)
}

// get returns the body of a 200 answer of at most size bytes. All of it must come
// within the time.
func (r *Replica) get(ctx context.Context, url string, size int64, within time.Duration) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	body, err := r.read(bounded, url, size)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("GET %s: no answer, or not all of it, within %s: %w", url, within, context.DeadlineExceeded)
	}
	return body, err
}

func (r *Replica) read(ctx context.Context, url string, size int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		if inner, ok := errors.AsType[*neturl.Error](err); ok {
			err = inner.Err // the error names the last of several redirects
		}
		return nil, fmt.Errorf("GET %s: %w", url, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, errorSize)) // the status is what counts
		return nil, fmt.Errorf("GET %s: %s: %.200q", url, resp.Status, text)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, size+1))
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", url, err)
	}
	if int64(len(body)) > size {
		return nil, fmt.Errorf("GET %s: the answer is larger than %d bytes", url, size)
	}
	return body, nil
}
