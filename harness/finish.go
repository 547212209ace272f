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
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// finish makes the result while fleet and target still run.
func (r *run) finish(ctx context.Context, partial bool) (*result.Result, error) {
	ctx = context.WithoutCancel(ctx)
	r.observeUsage(ctx)
	lines := r.observed.timeline.end(ctx)
	stuck := len(r.fleet.Stuck())
	res := r.collector.Finish(collect.Final{
		Scheduled:    r.schedule.Len(),
		Held:         r.fleet.Endpoints,
		Truth:        r.truth(),
		Scoped:       r.scoped,
		StuckWarming: &stuck,
	})
	res.Partial = partial
	res.AddOutages(r.away.outages(event.Time(r.steadyStart.Load()), r.several()))
	r.addWireBytes(res)
	addMisbehaviour(res, r.fleet.Counts())
	r.warnOfFailedWrites()
	r.warnIfNothingExpected(res)
	res.ControlPlane = r.controlPlane()
	res.ControlPlane.Replicas = r.describeReplicas(ctx, lines)
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
	verdict.Saturation(res.Harness, pauses, res.Propagation)
	r.addStagesAndCost(res, lines)
	checkErr := r.crossCheck()
	slo, sloErr := metric.Evaluate(res, r.cfg.Profile.SLO)
	res.SLO = slo
	return res, errors.Join(profileErr, checkErr, sloErr)
}

// scoped reports whether a proxy is not told of every service: a waypoint learns
// of those alone whose traffic goes through it, and a ztunnel of workloads.
func (r *run) scoped(proxy int) bool {
	kind := r.roster.kinds[proxy]
	return kind == fakeproxy.KindWaypoint || kind == fakeproxy.KindZtunnel
}

// save writes the result with everything that was worth a warning.
func (r *run) save(res *result.Result) error {
	r.mu.Lock()
	res.Warnings = append(res.Warnings, r.warnings...)
	r.mu.Unlock()
	return res.Save(r.cfg.Dir)
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
