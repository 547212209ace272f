package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/xdsbench/xdsbench/internal/address"
	"github.com/xdsbench/xdsbench/internal/subprocess"
)

// pollEvery is how often a starting target is asked whether it is ready.
const pollEvery = 20 * time.Millisecond

// awaitReady waits until the process is ready. It fails when the process ends,
// when the time is up and when ctx is done.
func (r *Replica) awaitReady(ctx context.Context, p *subprocess.Process) error {
	timeout, cancel := context.WithTimeout(ctx, r.cfg.ReadyTimeout)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var last error
	for {
		select {
		case <-p.Done():
			return fmt.Errorf("target: %s ended before it was ready: %s; %s", r.launch.args[0], p.ExitStatus(), r.logEnd())
		case <-timeout.Done():
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("target: waiting for %s to be ready: %w", r.launch.args[0], err)
			}
			return fmt.Errorf("target: %s is not ready after %s: %w; %s", r.launch.args[0], r.cfg.ReadyTimeout, last, r.logEnd())
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
		if _, err := r.page(ctx, r.launch.readyURL, shortSize); err != nil {
			return err
		}
	}
	for _, text := range r.launch.xds {
		if err := r.dial(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// dial opens a connection to an address and closes it.
func (r *Replica) dial(ctx context.Context, text string) error {
	a, err := address.Parse(text)
	if err != nil {
		return err
	}
	d := net.Dialer{Timeout: r.cfg.CallTimeout}
	conn, err := d.DialContext(ctx, a.Network, a.Endpoint)
	if err != nil {
		return err
	}
	return conn.Close()
}

// awaitExternal checks that each address of an external target accepts connections.
func (r *Replica) awaitExternal(ctx context.Context) error {
	var errs []error
	for _, text := range r.launch.xds {
		if err := r.dial(ctx, text); err != nil {
			errs = append(errs, fmt.Errorf("target.xdsAddress: %s does not accept connections (%w): start the control plane first, or correct the address", text, err))
		}
	}
	return errors.Join(errs...)
}
