package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/target"
)

// restartDelay is how long a replica that died stays away before it is started
// again, about what a kubelet takes on the first restart.
const restartDelay = time.Second

// maxRestarts bounds how often a run brings a replica back.
const maxRestarts = 5

// withdrawDelay is how long new connections may still go to a replica that is
// down: about what it takes until it is out of the EndpointSlice, and kube-proxy
// has its rules changed.
const withdrawDelay = time.Second

// breakLimit is how long the connections of a replica that was killed may take to
// break. They do so at once, but for a proxy that does not read.
const breakLimit = time.Second

// watchTarget has goroutines of the run take the target down where the profile
// wants it, and restart replicas of ours that exit by themselves, as a kubelet
// would; each such exit is a warning.
func (r *run) watchTarget(ctx context.Context) {
	for i := range r.replicas {
		r.wait.Go(func() { r.watchReplica(ctx, i) })
	}
	due := r.plannedOutage(ctx)
	if due == nil {
		return
	}
	r.wait.Go(func() {
		select {
		case <-ctx.Done():
		case <-due:
			r.takeDown(ctx, r.cfg.Profile.Target.Outage.Victims(len(r.replicas)))
		}
	})
}

// watchReplica brings a replica back that exited by itself. It returns when ctx is
// done or the replica is given up.
func (r *run) watchReplica(ctx context.Context, i int) {
	restarts := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.replicas[i].Exited():
		}
		planned, ok := r.revive(ctx, i, restarts)
		if !ok {
			return
		}
		if !planned {
			restarts++
		}
	}
}

// revive looks after a replica that has exited. It reports whether that was planned,
// and whether the replica is there again.
func (r *run) revive(ctx context.Context, i, restarts int) (planned, ok bool) {
	p := r.replicas[i]
	p.lifecycle.Lock()
	defer p.lifecycle.Unlock()
	switch {
	case ctx.Err() != nil || p.gone:
		return false, false
	case !p.exited():
		return true, true // taken down, and back by now
	case restarts == maxRestarts:
		r.noteExit(i, fmt.Sprintf("for the %dth time: left down", restarts+1))
		p.gone = true
		r.away.begin(r.clock.Now(), false, []int{i}) // it never ends
		r.offer([]int{i}, false)
		r.away.giveUp()
		return false, false
	}
	return false, r.bringBack(ctx, i)
}

// bringBack restarts a replica that exited by itself; false if that is no use.
func (r *run) bringBack(ctx context.Context, i int) bool {
	r.noteExit(i, fmt.Sprintf("and is started again after %s", restartDelay))
	at, lost := r.sinceSteady(), []int{i}
	x := r.beginAbsence(ctx, r.clock.Now(), lost, false)
	return r.stayDown(ctx, lost, restartDelay) && r.restart(ctx, x, lost, "exited "+at)
}

// exitLines is how many of the last lines of its log tell how a replica ended.
const exitLines = 3

// noteExit warns that a replica exited by itself, and what follows, with its exit
// status and the end of its log.
func (r *run) noteExit(i int, what string) {
	exit := r.replicas[i].Exit()
	if exit == nil {
		return // started again meanwhile
	}
	how := []string{exit.Status}
	lines := strings.Split(strings.TrimSpace(exit.Log), "\n")
	for _, line := range lines[max(0, len(lines)-exitLines):] {
		how = append(how, fmt.Sprintf("%.200q", line))
	}
	how = append(how, "see "+target.FileOf(target.LogFile, i))
	text := fmt.Sprintf("%sexited %s, %s (%s)", r.replicaNames([]int{i}), r.sinceSteady(), what, strings.Join(how, "; "))
	r.mu.Lock()
	r.lastExit = text
	r.mu.Unlock()
	r.warn("target: %s", text)
}

// takeDown kills replicas as the profile's target.outage wants it, and starts them
// again.
func (r *run) takeDown(ctx context.Context, victims []int) {
	r.log.Info("outage begins", "replicas", victims)
	for _, i := range victims {
		r.replicas[i].lifecycle.Lock()
		defer r.replicas[i].lifecycle.Unlock()
	}
	at, errs := r.clock.Now(), make([]error, len(victims))
	var wg sync.WaitGroup
	for k, i := range victims {
		wg.Go(func() { errs[k] = r.replicas[i].Kill(ctx) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		r.warn("target: outage: %v", err)
		r.away.giveUp()
		return
	}
	x := r.beginAbsence(ctx, at, victims, true)
	if r.stayDown(ctx, victims, r.cfg.Profile.Target.Outage.For.Duration) {
		r.restart(ctx, x, victims, "was taken down")
	}
}

// beginAbsence notes that replicas are gone since a time, and returns the number of
// that absence. While others are there, the proxies may be ready again before the
// replicas are.
func (r *run) beginAbsence(ctx context.Context, at event.Time, lost []int, planned bool) int {
	x := r.away.begin(at, planned, lost)
	if len(lost) < len(r.replicas) {
		r.wait.Go(func() {
			_ = poll(ctx, breakLimit, func() bool { return r.connectedTo(lost) == 0 })
			r.awaitProxies(ctx, x)
		})
	}
	return x
}

// connectedTo returns how many proxies are connected to some replicas.
func (r *run) connectedTo(replicas []int) (sum int64) {
	counts := r.countReplicas()
	for _, i := range replicas {
		sum += counts[i].Connected
	}
	return sum
}

// stayDown sleeps as long as replicas stay away. Meanwhile they are taken from the
// addresses that new connections go to. It reports whether ctx is still good.
func (r *run) stayDown(ctx context.Context, lost []int, d time.Duration) bool {
	first := min(d, withdrawDelay)
	if !sleep(ctx, first) {
		return false
	}
	r.offer(lost, false)
	return sleep(ctx, d-first)
}

// restart starts replicas again and notes what that ends; false if one of them is
// not back. It returns before the proxies are back.
func (r *run) restart(ctx context.Context, absence int, lost []int, gone string) bool {
	var held *result.Drift
	all := len(lost) == len(r.replicas)
	if all { // else what differs is under way
		var err error
		if held, err = r.drift(ctx); err != nil {
			r.warn("outage: what the proxies held is not known: %v", err)
		}
	}
	if err := r.startAgain(ctx, lost); err != nil {
		if ctx.Err() == nil {
			r.warn("target: %s%s and could not be started again: %v", r.replicaNames(lost), gone, err)
		}
		r.away.giveUp()
		return false
	}
	r.away.end(absence, r.clock.Now(), held)
	if all {
		r.wait.Go(func() { r.awaitProxies(ctx, absence) })
	}
	return true
}

// startAgain starts replicas at once, and offers those that are ready to new
// connections. Who calls it holds their lifecycle.
func (r *run) startAgain(ctx context.Context, lost []int) error {
	counts := r.countReplicas()
	errs := make([]error, len(lost))
	var wg sync.WaitGroup
	for k, i := range lost {
		p := r.replicas[i]
		p.countsAtRestart.Store(&counts[i])
		wg.Go(func() {
			if errs[k] = p.Restart(ctx); errs[k] != nil {
				p.gone = true
				return
			}
			r.offer([]int{i}, true)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// awaitProxies waits until as many proxies are ready as before the target was
// first away, and notes that the absence is over for them.
func (r *run) awaitProxies(ctx context.Context, absence int) {
	for r.fleet.Counts().Ready < r.away.wanted() {
		if !sleep(ctx, pollEvery) {
			return
		}
	}
	r.away.back(absence, r.clock.Now())
}

// sleep waits and reports whether ctx is still good.
func sleep(ctx context.Context, d time.Duration) bool {
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
