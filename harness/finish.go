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
	"github.com/xdsbench/xdsbench/fakeproxy/node"
)

// finish makes the result while fleet and target still run.
func (r *run) finish(ctx context.Context, partial bool) (*collect.Result, error) {
	ctx = context.WithoutCancel(ctx)
	r.observeUsage(ctx)
	lines := r.observed.timeline.end(ctx)
	stuck := len(r.fleet.Stuck())
	result := r.collector.Finish(collect.Final{
		Scheduled:    r.schedule.Len(),
		Held:         r.fleet.Endpoints,
		Truth:        r.truth(),
		Scoped:       r.scoped,
		StuckWarming: &stuck,
	})
	result.Partial = partial
	result.AddOutages(r.away.outages(event.Time(r.steadyStart.Load()), r.several()))
	r.addWireBytes(result)
	addMisbehaviour(result, r.fleet.Counts())
	r.companions()
	r.unheard(result)
	result.ControlPlane = r.controlPlane()
	result.ControlPlane.Replicas = r.describeReplicas(ctx, lines)
	result.ControlPlane.AddImbalance()
	result.Environment = r.environment()
	profile, err := json.Marshal(r.cfg.Profile)
	result.Profile = profile
	if result.Harness == nil {
		result.Harness = &collect.Harness{}
	}
	if err := r.meter.Stop(result.Harness, result.Propagation); err != nil {
		r.warn("%v", err)
	}
	r.explain(result, lines)
	checkErr := r.crossChecks(result)
	slo, sloErr := collect.EvaluateSLO(result, r.cfg.Profile.SLO)
	result.SLO = slo
	return result, errors.Join(err, checkErr, sloErr)
}

// scoped reports whether a proxy is not told of every service: a waypoint learns
// of those alone whose traffic goes through it, and a ztunnel of workloads.
func (r *run) scoped(proxy int) bool {
	kind := r.crew.kinds[proxy]
	return kind == node.Waypoint || kind == node.Ztunnel
}

// save writes the result with everything that was worth a warning.
func (r *run) save(result *collect.Result) error {
	r.mu.Lock()
	result.Warnings = append(result.Warnings, r.warnings...)
	r.mu.Unlock()
	return result.Save(r.cfg.Dir)
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
func (r *run) addWireBytes(result *collect.Result) {
	in, out := r.fleet.WireBytes()
	before := r.observed.wire
	if result.Sync != nil && result.Sync.Volume != nil {
		result.Sync.Volume.WireBytes = &before
	}
	if result.Volume != nil {
		result.Volume.WireBytes = &collect.WireBytes{In: in - before.In, Out: out - before.Out}
	}
}
