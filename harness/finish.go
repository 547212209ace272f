package harness

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// finish makes the result while fleet and target still run. failure is why the phases
// did not come to their end; nil if they did, or were interrupted. ctx bounds what is
// read of the control plane, and outlives an interrupt.
func (r *run) finish(ctx context.Context, interrupted bool, failure error) (*result.Result, error) {
	r.observeUsage(ctx)
	lines := r.observed.timeline.end(ctx)
	stuck := len(r.fleet.Stuck())
	counts := r.fleet.Counts() // at the same moment as the collector's
	final := collect.Final{
		Scheduled:    r.schedule.Len(),
		Held:         r.fleet.Endpoints,
		Truth:        r.truth(),
		Interrupted:  interrupted || failure != nil,
		StuckWarming: &stuck,
	}
	if len(followed(r.schedule)) > 0 {
		final.Followed = r.fleet.Followed
	}
	res := r.collector.Finish(final)
	res.Partial = interrupted || failure != nil
	if failure != nil && !interrupted {
		res.Failure = failure.Error()
	}
	res.AddOutages(r.away.outages(event.Time(r.steadyStart.Load()), r.several()))
	r.addWireBytes(res)
	addMisbehaviour(res, counts)
	r.addSilences(res)
	r.warnOfFailedWrites()
	r.warnOfLoops(res)
	res.ControlPlane = r.controlPlane()
	res.ControlPlane.Replicas = r.describeReplicas(ctx, lines, res.Convergence != nil)
	res.ControlPlane.AddImbalance()
	res.Environment = r.environment()
	profile, profileErr := json.Marshal(r.cfg.Profile)
	res.Profile = profile
	if res.Harness == nil {
		res.Harness = &result.Harness{}
	}
	pauses, err := r.meter.Stop(res.Harness)
	if err != nil {
		r.warn("%v", err)
	}
	r.addStagesAndCost(res, lines)
	r.addKindCosts(res)
	verdict.Saturation(res.Harness, pauses, res.Propagation)
	checkErr := r.crossCheck()
	slo, sloErr := metric.Evaluate(res, r.cfg.Profile.SLO)
	res.SLO = slo
	verdict.Judge(res)
	return res, errors.Join(profileErr, checkErr, sloErr)
}

// save writes the result with everything that was worth a warning.
func (r *run) save(res *result.Result) error {
	r.addWarnings(res)
	return res.Save(r.cfg.Dir)
}

// addWarnings adds to the result the warnings since it was last called.
func (r *run) addWarnings(res *result.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res.Warnings = append(res.Warnings, r.warnings[r.reported:]...)
	r.reported = len(r.warnings)
}

// truth lists the usable endpoints of every cluster of the mesh as churn left it,
// without the fleet's own services.
func (r *run) truth() iter.Seq2[string, []uint64] {
	return func(yield func(string, []uint64) bool) {
		for _, s := range r.mesh.Services {
			usable := s.Usable()
			for _, cluster := range slices.Sorted(maps.Keys(usable)) {
				if !yield(cluster, usable[cluster]) {
					return
				}
			}
		}
		r.schedule.External()(yield)
	}
}

// addWireBytes splits the fleet's byte counts between sync and steady load.
func (r *run) addWireBytes(res *result.Result) {
	in, out := r.fleet.WireBytes()
	before := r.observed.wire
	if res.Sync != nil && res.Sync.Volume != nil {
		res.Sync.Volume.WireBytes = &before
	}
	if res.Volume != nil {
		res.Volume.WireBytes = &result.WireBytes{In: in - before.In, Out: out - before.Out}
	}
}
