package harness

import (
	"context"
	"fmt"
	"time"
)

// restartDelay is how long a target that died stays away before it is started
// again, about what a kubelet takes on the first restart.
const restartDelay = time.Second

// maxRestarts bounds how often a run brings its target back.
const maxRestarts = 5

// watchTarget takes the target down where the profile wants it, and restarts a
// target of ours that exits by itself, as a kubelet would; each such exit is a
// warning. It returns when ctx is done or the target is given up.
func (r *run) watchTarget(ctx context.Context) {
	outage := r.plannedOutage(ctx)
	for restarts := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-outage:
			outage = nil
			if !r.takeDown(ctx) {
				return
			}
			continue
		case <-r.target.Exited():
		}
		if ctx.Err() != nil {
			return
		}
		if restarts == maxRestarts {
			r.warn("target: exited %s, for the %dth time: left down (see target.log)", r.sinceSteady(), restarts+1)
			r.away.giveUp()
			return
		}
		restarts++
		if !r.bringBack(ctx) {
			return
		}
	}
}

// bringBack restarts a target that exited by itself; false if that is no use.
func (r *run) bringBack(ctx context.Context) bool {
	at := r.sinceSteady()
	r.away.begin(r.clock.Now(), false)
	if !wait(ctx, restartDelay) {
		return false
	}
	if !r.restart(ctx, "exited "+at) {
		return false
	}
	r.warn("target: exited %s and was started again", at)
	return true
}

// takeDown kills the target as the profile's target.outage wants it, and starts
// it again; false if it is not back.
func (r *run) takeDown(ctx context.Context) bool {
	r.log.Info("outage begins")
	if err := r.target.Kill(ctx); err != nil {
		r.warn("target: outage: %v", err)
		r.away.giveUp()
		return false
	}
	r.away.begin(r.clock.Now(), true)
	if !wait(ctx, r.cfg.Profile.Target.Outage.For.Duration) {
		return false
	}
	return r.restart(ctx, "was taken down")
}

// restart starts the target again and notes what that ends. It returns before
// the proxies are back.
func (r *run) restart(ctx context.Context, gone string) bool {
	held, err := r.drift(ctx)
	if err != nil {
		r.warn("outage: what the proxies held is not known: %v", err)
	}
	if err := r.target.Restart(ctx); err != nil {
		if ctx.Err() == nil {
			r.warn("target: %s and could not be started again: %v", gone, err)
		}
		r.away.giveUp()
		return false
	}
	r.away.end(r.clock.Now(), held)
	r.wait.Go(func() {
		for !r.allBack() {
			if !wait(ctx, pollEvery) {
				return
			}
		}
		r.away.back(r.clock.Now())
	})
	return true
}

// allBack reports whether as many proxies are ready as before the target was
// first away.
func (r *run) allBack() bool { return r.fleet.Counts().Ready >= r.away.wanted() }

// wait sleeps and reports whether ctx is still good.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// sinceSteady says where in the run an event falls.
func (r *run) sinceSteady() string {
	if start := r.steadyStart.Load(); start > 0 {
		return fmt.Sprintf("%.1fs after steady load began", r.clock.Now().Duration().Seconds()-float64(start)/float64(time.Second))
	}
	return "before steady load began"
}
