package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xdsbench/xdsbench/profiles"
)

// What a run waits for at most, so that no peer which accepts and never answers can
// hold it up. The package target bounds each call for one of its pages, and fakeproxy
// each stream. They are generous, since a control plane or an API server under load
// is slow, and slow is not silent. After an interrupt everything gets the short
// time beside it.
const (
	// interruptLimit is how long after an interrupt a run still waits for anything:
	// within 10 s the command has ended.
	interruptLimit = 8 * time.Second

	// requestLimit bounds one request to a real API server; sweepLimit one that deletes
	// a whole collection, which the API server does object by object. Requests under
	// way end requestGrace after an interrupt.
	requestLimit = 10 * time.Second
	sweepLimit   = time.Minute
	requestGrace = time.Second

	// silentPageTime is for a page of the control plane that had its whole time before
	// and did not answer.
	silentPageTime = time.Second

	// figuresLimit bounds what is read of the control plane for the result after the
	// last phase, figuresGrace the same after an interrupt.
	figuresLimit = 30 * time.Second
	figuresGrace = 1500 * time.Millisecond

	// closeLimit bounds the closing of the proxies' streams.
	closeLimit = 30 * time.Second
	closeGrace = 3 * time.Second

	// targetLimit bounds the end of the target's processes, which are killed after
	// targetGrace at an interrupt.
	targetLimit = 30 * time.Second
	targetGrace = 2 * time.Second

	// stopLimit bounds the removal of what the run created on a real API server.
	stopLimit = 5 * time.Minute

	// startLimit bounds the start: the mesh is written, the target gets ready.
	startLimit = 15 * time.Minute
	// figuresPerRun is how often the control plane's figures are read.
	figuresPerRun = 3
)

// errRunLimit ends a run that lasts longer than all its phases may.
var errRunLimit = errors.New("the run took longer than all its phases may")

// runLimit bounds a whole run but for its clean-up: the sum of what the phases may
// take. It is a last resort, since each phase has a bound of its own.
func runLimit(p *profiles.Profile) time.Duration {
	phases := p.Phases
	return startLimit + p.ReadyTimeout() + phases.Warmup.Duration + settleLimit + phases.Idle.Duration +
		phases.Steady.Duration + overrunLimit(phases.Steady.Duration) + phases.Drain.Duration + quietLimit + figuresPerRun*figuresLimit
}

// overrunLimit is how long after the end of the schedule late mutations are still
// issued.
func overrunLimit(steady time.Duration) time.Duration { return max(steady, time.Minute) }

// outlive returns a context that lasts for limit, and once ctx has ended only for
// grace more. A limit of 0 is none.
func outlive(ctx context.Context, limit, grace time.Duration) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var timer *time.Timer
	if limit > 0 {
		timer = time.AfterFunc(limit, func() { cancel(fmt.Errorf("not done within %s: %w", limit, context.DeadlineExceeded)) })
	}
	forget := context.AfterFunc(ctx, func() {
		time.AfterFunc(grace, func() { cancel(fmt.Errorf("not done within %s of the interrupt: %w", grace, context.Canceled)) })
	})
	return own, func() {
		forget()
		if timer != nil {
			timer.Stop()
		}
		cancel(nil)
	}
}
