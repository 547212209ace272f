package harness

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/node"
	"github.com/xdsbench/xdsbench/internal/self"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/verdict"
	"github.com/xdsbench/xdsbench/target"
)

// progressEvery is the time between two calls of Config.Progress.
const progressEvery = 250 * time.Millisecond

// run is one run under way.
type run struct {
	cfg     Config
	log     *slog.Logger
	clock   event.Clock
	id      string
	started time.Time

	// Set by start, before any goroutine of the run exists.
	mesh         *mesh.Mesh
	schedule     *churn.Schedule
	turnover     *turnover
	kube         *kube
	target       *target.Target
	replicas     []*replica
	collector    *collect.Collector
	sink         *fleetSink
	churn        *churnSink
	fleetStart   event.Time // when the first proxy was to connect
	fleet        *fakeproxy.Fleet
	meter        *self.Meter
	profile      *self.Profile // nil unless asked for
	roster       roster
	clusterNames map[string]map[string]string // see clusterNamesOf

	// Goroutines of the run: cancel ends them, wait waits for them.
	cancel context.CancelFunc
	wait   sync.WaitGroup

	// For other goroutines to read.
	steadyStart atomic.Int64  // event.Time; 0 before the steady phase
	steadyBegan chan struct{} // closed when it begins
	away        absences
	progress    atomic.Pointer[progressSource]
	lastSecond  atomic.Pointer[collect.Interval] // with deliveries

	mu         sync.Mutex // guards the fields below
	phase      Phase
	phaseStart time.Time
	phaseLimit time.Duration
	detail     string
	warnings   []string
	reported   int    // of the warnings, those that are in the result
	lastExit   string // how a process of the target ended last

	// Owned by Run's goroutine.
	observed  observation
	apiSilent bool // said in the result
}

// Run carries out one run. It returns a result as soon as proxies have
// connected, also with an error or when ctx was cancelled; the result is then
// marked partial. After ctx was cancelled it returns within 10 s, whatever does not
// answer. Without a result, Config.Dir is left only if the target wrote
// a log.
func Run(ctx context.Context, cfg Config) (res *result.Result, err error) {
	r := &run{cfg: cfg, clock: event.NewClock(), id: newID(), started: time.Now(), steadyBegan: make(chan struct{})}
	if err := CheckRunnable(cfg.Profile); err != nil {
		return nil, invalid(err)
	}
	if err := r.plan(); err != nil {
		return nil, invalid(err)
	}
	defer self.BudgetGarbage()()
	closeLog, err := r.makeDir()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	stopMetrics, err := r.serveMetrics(ctx, cfg.MetricsAddress)
	if err != nil {
		return nil, errors.Join(err, removeIfEmpty(cfg.Dir))
	}
	defer func() { err = errors.Join(err, stopMetrics()) }()
	stopProgress := startProgress(cfg.Progress, r.status)
	defer stopProgress()
	// The clean-up outlives an interrupt, and the end of the run's time.
	ending, end := outlive(ctx, 0, interruptLimit)
	defer end()
	ctx, cancel := context.WithTimeoutCause(ctx, runLimit(cfg.Profile), errRunLimit)
	defer cancel()
	requests, endRequests := outlive(ctx, 0, requestGrace)
	defer endRequests()
	if err := r.start(ctx, requests); err != nil {
		return nil, errors.Join(unlessInterrupted(ctx, err), r.profile.Stop(), r.stop(ctx, ending), removeIfEmpty(cfg.Dir))
	}
	err = unlessInterrupted(ctx, r.measure(ctx))
	return r.conclude(ctx, ending, err)
}

// conclude makes the result, saves it, ends what the run started, and saves the
// result again if that gave more to say.
func (r *run) conclude(ctx, ending context.Context, err error) (*result.Result, error) {
	profileErr := r.profile.Stop()
	figures, cancel := outlive(ctx, figuresLimit, figuresGrace)
	res, finishErr := r.finish(figures, ctx.Err() != nil && err == nil, err)
	cancel()
	saveErr := r.save(res)
	said := len(res.Warnings)
	stopErr := r.stop(ctx, ending)
	r.addSilentAPI(res)
	if r.addWarnings(res); len(res.Warnings) > said {
		verdict.Judge(res)
		saveErr = r.save(res)
	}
	return res, errors.Join(err, profileErr, finishErr, stopErr, saveErr)
}

// unlessInterrupted returns what a phase failed with: nil if it was an interrupt, of
// which the errors say only that something was cut short, or for how long the API
// server had not answered.
func unlessInterrupted(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil || err == nil:
		return err
	case errors.Is(cause, errRunLimit):
		return fmt.Errorf("%w: %w", cause, err)
	case errors.Is(err, ErrNoAnswer):
		return err
	default:
		return nil
	}
}

// plan makes the mesh and decides what will change in it, and when.
func (r *run) plan() error {
	p := r.cfg.Profile
	var err error
	if r.mesh, err = mesh.New(mesh.Config{
		Spec: p.Mesh, Proxies: p.Proxies.Count, Seed: p.Seed, RunID: r.id, ClusterName: p.Target.ClusterName,
	}); err != nil {
		return err
	}
	if r.schedule, err = churn.Plan(p.Churn, r.mesh, p.Phases.Steady.Duration, p.Seed); err != nil {
		return err
	}
	if p.Proxies.Kinds[node.Ztunnel] > 0 {
		r.schedule.AnnouncePods(&event.Audience{Kinds: []string{node.Ztunnel}})
	}
	if err = r.schedule.Prepare(r.mesh); err != nil {
		return err
	}
	r.clusterNames = clusterNamesOf(slices.Values(r.mesh.Services))
	r.turnover = planTurnover(p.Proxies.Turnover, r.schedule, r.mesh.Proxies, p.Proxies.Kinds.Of(len(r.mesh.Proxies)))
	ever := p.Proxies
	ever.Count += len(r.turnover.joiners)
	return fakeproxy.CheckLimits(ever)
}

// measure goes through the phases in which proxies are connected.
func (r *run) measure(ctx context.Context) error {
	for _, phase := range []func(context.Context) error{r.connect, r.warmUp, r.idle, r.begin, r.steady, r.drain} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start brings up everything that the phases need. Requests to the API server last
// no longer than requests does.
func (r *run) start(ctx, requests context.Context) error {
	r.enter(PhaseStart, 0, "API server")
	p := r.cfg.Profile
	var err error
	if r.kube, err = openKube(ctx, r.cfg.Kubeconfig, r.cfg.Context, r.log); err != nil {
		return err
	}
	r.kube.limitRequests(requests)
	kinds, err := r.kube.kindsOf(ctx, r.mesh)
	if err != nil {
		return err
	}
	r.warnAll(r.schedule.Warnings)
	r.warnAll(r.turnover.warnings)
	r.enter(PhaseStart, 0, "writing the mesh")
	if err = seed(ctx, r.kube.client, r.mesh, func(done int) {
		r.setDetail(fmt.Sprintf("writing the mesh: %d objects", done))
	}); err != nil {
		return fmt.Errorf("writing the mesh: %w", err)
	}
	if err = r.createCustom(ctx, kinds); err != nil {
		return err
	}
	if err = seedConfigs(ctx, r.kube.dynamic, r.mesh.Configs); err != nil {
		return fmt.Errorf("writing the mesh: %w", err)
	}
	r.mesh.ForgetFleet()
	r.enter(PhaseStart, 0, "control plane ("+p.Target.Kind+")")
	if r.target, err = target.Start(ctx, target.Config{
		Spec: p.Target, Kubeconfig: r.kube.kubeconfig, Dir: r.cfg.Dir, Self: r.cfg.Self, Environ: r.cfg.Environ, Log: r.log,
	}); err != nil {
		return err
	}
	return r.startFleet(ctx)
}

// startFleet makes the collector and lets the fleet connect.
func (r *run) startFleet(ctx context.Context) error {
	p := r.cfg.Profile
	r.roster = rosterOf(r.mesh.Proxies, p.Proxies, r.turnover.joiners...)
	r.replicas = replicasOf(r.target, r.clock)
	var err error
	if r.collector, err = collect.New(collect.Config{
		Proxies: len(r.roster.identities), Initial: p.Proxies.Count, Variants: r.roster.variants, Names: r.roster.names, Kinds: r.roster.kinds,
		Member: r.roster.member(p.Mesh.Scope), ReplicaOf: replicaOfAddress(r.replicas), Clock: r.clock,
		Baseline: slices.Concat(baseline(r.mesh), r.schedule.Baseline()),
	}); err != nil {
		return err
	}
	r.churn = &churnSink{Collector: r.collector}
	r.sink = newFleetSink(r.collector, len(r.roster.names))
	if r.fleet, err = fakeproxy.New(fakeproxy.Config{
		Spec: p.Proxies, Addresses: r.target.XDSAddresses(), Identities: r.roster.identities,
		Random: p.Target.Balance == target.BalanceRandom,
		Clock:  r.clock, Sink: r.sink, Seed: p.Seed, Log: r.log, Follow: followed(r.schedule),
	}); err != nil {
		return err
	}
	r.roster.identities = nil // the fleet has them
	r.progress.Store(&progressSource{fleet: r.fleet, collector: r.collector, scheduled: r.schedule.Len()})
	if r.cfg.SelfProfile {
		if r.profile, err = self.StartProfile(r.cfg.Dir); err != nil {
			return err
		}
	}
	r.meter = self.Start()
	r.observeStart(ctx)
	// The fleet stays connected until the result is made, also after an interrupt.
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.fleetStart = r.clock.Now()
	r.collector.FleetConnects(r.fleetStart, p.Proxies.ConnectRate)
	r.wait.Go(func() { r.fleet.Run(ctx) })
	r.away.expect(int64(p.Proxies.Count))
	if p.Target.Outage != nil {
		r.away.plan()
	}
	r.watchTarget(ctx)
	return nil
}

// followed are the types, other than EDS, that the schedule changes resources of.
func followed(s *churn.Schedule) []xds.Type {
	return slices.DeleteFunc(s.Types(), func(t xds.Type) bool { return t == xds.EDS })
}

// baseline lists the states that the services have before the first mutation. The
// fleet's own are left out: control planes may leave them out too, and churn does
// not touch them.
func baseline(m *mesh.Mesh) []event.Expected {
	var states []event.Expected
	for _, s := range m.Services {
		states = append(states, s.States()...)
	}
	return states
}

func (r *run) enter(p Phase, limit time.Duration, detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase, r.phaseStart, r.phaseLimit, r.detail = p, time.Now(), limit, detail
	r.log.Info("phase", "name", p, "detail", detail)
}

func (r *run) setDetail(detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.detail = detail
}

func (r *run) warn(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	r.warnings = append(r.warnings, text)
	r.log.Warn(text)
}

func (r *run) warnAll(warnings []string) {
	for _, w := range warnings {
		r.warn("%s", w)
	}
}

// newID returns a name for the run's objects that no other run has.
func newID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: see crypto/rand
	return hex.EncodeToString(b[:])
}
