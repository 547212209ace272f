package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/internal/file"
	"github.com/xdsbench/xdsbench/internal/self"
	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
	"github.com/xdsbench/xdsbench/target"
)

// The files of the control plane's own metrics in the results folder.
const (
	metricsBeforeFile = "metrics-before.prom"
	metricsAfterFile  = "metrics-after.prom"
)

// observation is what a run learns of the control plane from outside the wire,
// and of the churn.
type observation struct {
	timeline *timeline // from the connect phase on
	churn    churn.Stats
	// Metrics per replica: before the fleet connected, before steady load and after
	// the drain. Of a replica without metrics they are nil.
	start, before, after [][]byte
	// Our own counts per replica, at the same times as the latter two.
	countsBefore, countsAfter []observe.Counts
	sync                      *observe.SyncCheck
	usage                     *target.Usage
	wire                      result.WireBytes // before steady load
	costs                     []costReading    // before steady load and after the drain
	profiles                  []observed.ProfileSummary
	idle                      *observed.Idle // nil if it was not measured
	kindCosts                 costs
}

// observeStart takes the metrics from which those of the whole run are counted.
func (r *run) observeStart(ctx context.Context) {
	// A target whose metrics cannot be read is warned of later.
	r.observed.start = make([][]byte, len(r.replicas))
	r.eachReplica(func(i int, p *replica) { r.observed.start[i], _ = p.Scrape(ctx) })
}

// observeBefore takes the control plane's figures before steady load.
func (r *run) observeBefore(ctx context.Context) error {
	var err error
	r.observed.before, err = r.scrape(ctx, metricsBeforeFile)
	r.observed.countsBefore = r.countReplicas()
	r.observed.wire.In, r.observed.wire.Out = r.fleet.WireBytes()
	r.readCost(ctx)
	return err
}

// observeAfter takes them again after the drain.
func (r *run) observeAfter(ctx context.Context) error {
	var err error
	r.endCosts(ctx)
	r.readCost(ctx)
	r.observed.after, err = r.scrape(ctx, metricsAfterFile)
	r.observed.countsAfter = r.countReplicas()
	r.checkSync(ctx)
	return err
}

// scrape reads each replica's metrics and keeps them in the results folder. A
// target without metrics is no error, and one that does not answer a warning.
func (r *run) scrape(ctx context.Context, name string) ([][]byte, error) {
	texts := make([][]byte, len(r.replicas))
	errs := make([]error, len(r.replicas))
	r.eachReplica(func(i int, _ *replica) {
		texts[i], errs[i] = r.scrapeReplica(ctx, i, target.FileOf(name, i))
	})
	return texts, errors.Join(errs...)
}

func (r *run) scrapeReplica(ctx context.Context, i int, name string) ([]byte, error) {
	text, err := r.replicas[i].Scrape(ctx)
	switch {
	case errors.Is(err, target.ErrNoMetrics):
		return nil, nil
	case err != nil:
		r.warn("control-plane metrics: %s%v", r.replicaNames([]int{i}), err)
		return nil, ctx.Err()
	}
	return text, file.Write(filepath.Join(r.cfg.Dir, name), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// observeUsage takes what the target has cost so far.
func (r *run) observeUsage(ctx context.Context) {
	usage, err := r.usage(ctx)
	if err != nil {
		r.warn("control plane's CPU and memory: %v", err)
		return
	}
	r.observed.usage = &usage
}

// controlPlane describes the target for the result.
func (r *run) controlPlane() *observed.ControlPlane {
	info := r.target.Info()
	c := &observed.ControlPlane{Kind: info.Kind, Version: info.Version, Profiles: r.observed.profiles, Idle: r.observed.idle}
	if r.observed.sync != nil {
		c.ProxyStatus = new(r.observed.sync.Status())
	}
	if u := r.observed.usage; u != nil {
		peak := int64(u.PeakRSSBytes)
		c.CPUSeconds, c.PeakRSSBytes = &u.CPUSeconds, &peak
	}
	if !anyOf(r.observed.before) || !anyOf(r.observed.after) {
		return c
	}
	metrics, err := observe.GainedByReplicas(r.observed.before, r.observed.after)
	if err != nil {
		r.warn("control-plane metrics: %v", err)
		return c
	}
	c.Metrics = metrics
	if c.Missing, err = observe.MissingMetrics(r.observed.after...); err != nil {
		r.warn("control-plane metrics: %v", err)
	}
	return c
}

// anyOf reports whether any replica has metrics.
func anyOf(texts [][]byte) bool {
	return slices.ContainsFunc(texts, func(text []byte) bool { return text != nil })
}

// warnOfFailedWrites warns of pods that could not be written: their endpoints may then
// be dropped by the control plane.
func (r *run) warnOfFailedWrites() {
	s := r.observed.churn
	if s.CompanionFailed > 0 {
		r.warn("churn: %d of %d writes of pods failed: a control plane drops endpoints whose pod it does not know", s.CompanionFailed, s.CompanionWrites)
	}
	if s.Behind > 0 {
		r.warn("churn: %d slices are not as the schedule wanted them after failed writes: proxies will count as diverged", s.Behind)
	}
	if failed := r.churn.failed(s.Failed); failed > 0 {
		r.warn("churn: %d of %d writes failed", failed, s.Issued)
	}
}

// environment describes what the run was made with.
func (r *run) environment() *result.Environment {
	e, err := self.Host()
	if err != nil {
		r.warn("%v", err)
	}
	info := r.target.Info()
	e.RunID = r.id
	e.StartedAt = r.started.UTC().Format("2006-01-02T15:04:05Z")
	e.Versions["xdsbench"] = r.cfg.Version
	e.Versions["target"] = info.Version
	e.Target, e.TargetEnv = describeTarget(info, r.kube.real()), info.Env
	e.Transport = r.cfg.Profile.Proxies.Transport
	return e
}

// describeTarget says in a few words what was under test.
func describeTarget(info target.Info, realCluster bool) string {
	api := "in-memory API server"
	if realCluster {
		api = "real API server"
	}
	return fmt.Sprintf("%s on %s", info.Kind, api)
}

// loopRate is how many responses a second with nothing new, of one type at one proxy, are
// taken for a control plane and proxies that answer each other without end.
const loopRate = 5

// warnOfLoops warns of types that are sent again and again.
func (r *run) warnOfLoops(res *result.Result) {
	steady := r.cfg.Profile.Phases.Steady.Seconds()
	if res.Volume == nil || res.Proxies == nil || res.Proxies.Ready == 0 || steady == 0 {
		return
	}
	for _, typ := range slices.Sorted(maps.Keys(res.Volume.Resent)) {
		n := res.Volume.Resent[typ]
		if each := float64(n) / steady / float64(res.Proxies.Ready); each > loopRate {
			r.warn("%s: the control plane sent what proxies held already %d times, %.0f times a second to each proxy: an answer of one side may cause the next of the other, without end", typ, n, each)
		}
	}
}
