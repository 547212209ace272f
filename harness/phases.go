package harness

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/xdsbench/xdsbench/churn"
)

// pollEvery is the time between two looks at whether a phase is over.
const pollEvery = 20 * time.Millisecond

// quietTime is how long no response may have come before the drain ends, so
// that pushes which nobody waits for, such as those of no-op mutations, are
// in the counts on both sides.
const quietTime = time.Second

// quietLimit is how long the drain may go on after its limit for such a moment.
const quietLimit = 5 * time.Second

// settleLimit is how long after the warm-up the wire may take to become quiet.
const settleLimit = 30 * time.Second

// churnWorkers is how many writes to the API server can be in flight. Writes
// of one service are serial.
const churnWorkers = 64

// connect waits until every proxy is ready. Missing ones after the time-out
// are a warning, or an error if none is ready.
func (r *run) connect(ctx context.Context) error {
	limit := r.cfg.Profile.ReadyTimeout()
	r.enter(PhaseConnect, limit, "")
	r.observed.timeline = r.startTimeline(ctx)
	want := int64(r.cfg.Profile.Proxies.Count)
	ready := func() bool { return r.fleet.Counts().Ready >= want }
	err := poll(ctx, limit, ready)
	if !errors.Is(err, errLimit) {
		return err
	}
	counts := r.fleet.Counts()
	problem := fmt.Sprintf("proxies: %d of %d ready after %s%s", counts.Ready, want, limit, r.whyNotReady())
	if counts.Ready == 0 {
		if r.target.Info().Log != "" {
			problem += ": see target.log in " + r.cfg.Dir
		}
		return errors.New(problem)
	}
	r.warn("%s: the run went on without the missing ones", problem)
	return nil
}

// whyNotReady gives the first reason the fleet knows of.
func (r *run) whyNotReady() string {
	if stuck := r.fleet.Stuck(); len(stuck) > 0 {
		s := stuck[0]
		return fmt.Sprintf(" (%s waits for the %s resource %s of %s)", s.Node, s.Type, s.Name, strings.Join(s.Parents, ", "))
	}
	var reasons []string
	if err := r.sink.lastFailure(); err != nil {
		reasons = append(reasons, fmt.Sprintf("last error: %v", err))
	}
	r.mu.Lock()
	if r.lastExit != "" {
		reasons = append(reasons, "target: "+r.lastExit)
	}
	r.mu.Unlock()
	if len(reasons) == 0 && r.fleet.Counts().Responses == 0 {
		reasons = append(reasons, "the control plane answered nothing")
	}
	if len(reasons) == 0 {
		return ""
	}
	return " (" + strings.Join(reasons, "; ") + ")"
}

// warmUp lets the mesh rest until the wire is quiet, and removes the garbage that the
// sync left.
func (r *run) warmUp(ctx context.Context) error {
	limit := r.cfg.Profile.Phases.Warmup.Duration
	r.enter(PhaseWarmup, limit, "")
	err := poll(ctx, limit, func() bool { return false })
	if err != nil && !errors.Is(err, errLimit) {
		return err
	}
	if err := poll(ctx, settleLimit, r.quiet()); errors.Is(err, errLimit) {
		r.warn("the control plane had not stopped pushing %s after the warm-up: what it pushed on counts as steady load", settleLimit)
	} else if err != nil {
		return err
	}
	runtime.GC() // now rather than while latencies are measured
	return nil
}

// begin takes the control plane's figures.
func (r *run) begin(ctx context.Context) error { return r.observeBefore(ctx) }

// steady issues the mutations, and lets proxies come and go with their pods.
func (r *run) steady(ctx context.Context) error {
	r.enter(PhaseSteady, r.cfg.Profile.Phases.Steady.Duration, "")
	finishProfiling := r.startProfiling(ctx)
	r.meter.Mark()
	start := r.collector.BeginSteady()
	r.steadyStart.Store(int64(start))
	r.away.expect(r.fleet.Counts().Ready)
	close(r.steadyBegan)
	endCosts := r.watchCosts(ctx, start)
	r.startTurnover(ctx, start)
	issuing, endOverrun := r.limitOverrun(ctx)
	stats, err := churn.Run(issuing, churn.Config{
		Dynamic: r.kube.dynamic,
		Client:  r.kube.client, Schedule: r.schedule, Mesh: r.mesh, Sink: r.churn,
		Clock: r.clock, Start: start, Workers: churnWorkers, Log: r.log,
	})
	endOverrun()
	endCosts()
	finishProfiling()
	r.observed.churn = stats
	switch {
	case errors.Is(err, errOverrun):
		r.warn("churn: %d of %d mutations were never issued: %v", stats.Scheduled-stats.Issued, stats.Scheduled, context.Cause(issuing))
	case err != nil:
		return fmt.Errorf("churn: %w", err)
	}
	return nil
}

// errOverrun ends the issuing of mutations after the end of the schedule.
var errOverrun = errors.New("late mutations were given up")

// limitOverrun returns the context for the churn. Late mutations are issued after the
// end of the schedule too, but not for ever, and not to an API server that does not
// answer: then it ends the context, and the requests under way. end must be called.
func (r *run) limitOverrun(ctx context.Context) (issuing context.Context, end func()) {
	issuing, cancel := context.WithCancelCause(ctx)
	steady := r.cfg.Profile.Phases.Steady.Duration
	var wait sync.WaitGroup
	wait.Go(func() {
		if !sleep(issuing, steady) {
			return
		}
		over := func() bool { return r.kube.silent(requestLimit) }
		var cause error
		switch err := poll(issuing, overrunLimit(steady), over); {
		case err == nil:
			cause = fmt.Errorf("%w: the API server answered nothing for %s", errOverrun, requestLimit)
		case errors.Is(err, errLimit):
			cause = fmt.Errorf("%w %s after the end of steady load", errOverrun, overrunLimit(steady))
		default:
			return
		}
		cancel(cause)
		r.kube.limitRequests(issuing)
	})
	return issuing, func() {
		cancel(nil)
		wait.Wait()
	}
}

// drain waits until nothing is pending, the wire is quiet, and proxies that lost
// the control plane have it again.
func (r *run) drain(ctx context.Context) error {
	limit := r.cfg.Profile.Phases.Drain.Duration
	r.enter(PhaseDrain, limit, "")
	quiet := r.quiet()
	err := poll(ctx, limit, func() bool {
		return quiet() && r.collector.Pending() == 0 && r.away.over() && r.turnedOver()
	})
	if errors.Is(err, errLimit) {
		// Something is missing. The counts of both sides are compared all the same, so
		// they are taken between two pushes if there is such a moment.
		err = poll(ctx, quietLimit, quiet)
	}
	if err != nil && !errors.Is(err, errLimit) {
		return err
	}
	return r.observeAfter(ctx)
}

// quiet returns a test of whether no response has come for quietTime.
func (r *run) quiet() func() bool {
	seen, since := -1, time.Now()
	return func() bool {
		if n := r.collector.Progress().Responses; n != seen {
			seen, since = n, time.Now()
		}
		return time.Since(since) >= quietTime
	}
}

// errLimit says that a phase lasted as long as it may.
var errLimit = errors.New("limit reached")

// poll waits until done says so; it returns errLimit when that takes longer
// than limit, and ctx's error when ctx ends before.
func poll(ctx context.Context, limit time.Duration, done func() bool) error {
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return errLimit
		case <-tick.C:
		}
	}
	return nil
}
