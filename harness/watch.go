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

// watchTarget restarts a target of ours that exits in mid-run, as a kubelet
// would, and notes each exit as a warning. It returns when ctx is done.
func (r *run) watchTarget(ctx context.Context) {
	for restarts := 0; ; restarts++ {
		select {
		case <-ctx.Done():
			return
		case <-r.target.Exited():
		}
		if ctx.Err() != nil {
			return
		}
		at := r.sinceSteady()
		if restarts == maxRestarts {
			r.warn("target: exited %s, for the %dth time: left down (see target.log)", at, restarts+1)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(restartDelay):
		}
		if err := r.target.Restart(ctx); err != nil {
			if ctx.Err() == nil {
				r.warn("target: exited %s and could not be started again: %v", at, err)
			}
			return
		}
		r.warn("target: exited %s and was started again", at)
	}
}

// sinceSteady says where in the run an event falls.
func (r *run) sinceSteady() string {
	if start := r.steadyStart.Load(); start > 0 {
		return fmt.Sprintf("%.1fs after steady load began", r.clock.Now().Duration().Seconds()-float64(start)/float64(time.Second))
	}
	return "before steady load began"
}
