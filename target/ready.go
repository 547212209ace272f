package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/xdsbench/xdsbench/internal/address"
	"github.com/xdsbench/xdsbench/internal/subprocess"
)

// pollEvery is how often a starting target is asked whether it is ready.
const pollEvery = 20 * time.Millisecond

// tailLines is how many lines of a target's log an error quotes.
const tailLines = 15

// awaitReady waits until the process is ready. It fails when the process ends,
// when the time is up and when ctx is done.
func (r *Replica) awaitReady(ctx context.Context, p *subprocess.Process, logOffset int64) error {
	timeout, cancel := context.WithTimeout(ctx, r.cfg.ReadyTimeout)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var last error
	for {
		select {
		case <-p.Done():
			return r.withTail(fmt.Errorf("target: %s ended before it was ready: %s", r.launch.args[0], p.ExitStatus()), logOffset)
		case <-timeout.Done():
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("target: waiting for %s to be ready: %w", r.launch.args[0], err)
			}
			return r.withTail(fmt.Errorf("target: %s is not ready after %s: %w", r.launch.args[0], r.cfg.ReadyTimeout, last), logOffset)
		case <-ticker.C:
		}
		err := r.probe(timeout)
		if err == nil {
			return nil
		}
		// The time running out says less than what the target answered before.
		if timeout.Err() == nil || last == nil {
			last = err
		}
	}
}

// probe returns nil if the target says that it is ready and all its ADS
// addresses accept connections.
func (r *Replica) probe(ctx context.Context) error {
	if r.launch.readyURL != "" {
		if _, err := r.get(ctx, r.launch.readyURL); err != nil {
			return err
		}
	}
	for _, a := range r.launch.xds {
		if err := dial(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// dial opens a connection and closes it.
func dial(ctx context.Context, text string) error {
	a, err := address.Parse(text)
	if err != nil {
		return err
	}
	d := net.Dialer{Timeout: 5 * time.Second}
	conn, err := d.DialContext(ctx, a.Network, a.Endpoint)
	if err != nil {
		return err
	}
	return conn.Close()
}

// awaitExternal checks that each address of an external target accepts connections.
func (r *Replica) awaitExternal(ctx context.Context) error {
	var errs []error
	for _, a := range r.launch.xds {
		if err := dial(ctx, a); err != nil {
			errs = append(errs, fmt.Errorf("target.xdsAddress: %s does not accept connections (%w): start the control plane first, or correct the address", a, err))
		}
	}
	return errors.Join(errs...)
}

// withTail adds to err the last lines of the log since offset.
func (r *Replica) withTail(err error, offset int64) error {
	path := r.logPath()
	lines, readErr := subprocess.Tail(path, offset, tailLines)
	switch {
	case readErr != nil:
		return errors.Join(err, readErr)
	case lines == "":
		return fmt.Errorf("%w; it wrote nothing to its log %s", err, path)
	}
	return fmt.Errorf("%w; last lines of its log %s:\n%s", err, path, lines)
}

// get returns the body of a 200 answer of at most maxBody bytes.
func (r *Replica) get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("GET %s: %w", url, err)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("GET %s: %s: %.200q", url, resp.Status, body)
	case len(body) > maxBody:
		return nil, fmt.Errorf("GET %s: the answer is larger than %d bytes", url, maxBody)
	}
	return body, nil
}
