package harness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/internal/address"
	"github.com/xdsbench/xdsbench/internal/self"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// FleetConfig is what a fleet without a mesh and a target of its own needs.
type FleetConfig struct {
	Spec fakeproxy.Spec
	// XDSAddress is the control plane's, HOST:PORT or unix:/PATH; several separated
	// by commas.
	XDSAddress string
	// Namespace is where the proxies claim to be.
	Namespace string
	Seed      uint64
	// Log may be nil.
	Log *slog.Logger
	// Progress, if set, is called several times a second.
	Progress func(Status)

	onlooker fakeproxy.Sink // is told what the collector is; may be nil
}

// Validate lists everything that is wrong, one line each.
func (cfg *FleetConfig) Validate() error {
	errs := []error{cfg.Spec.Validate()}
	if cfg.Spec.Count > maxStandalonePods {
		errs = append(errs, fmt.Errorf("proxies.count: %d: must be at most %d", cfg.Spec.Count, maxStandalonePods))
	}
	for _, reason := range validation.IsDNS1123Label(cfg.Namespace) {
		errs = append(errs, fmt.Errorf("namespace: %q: %s", cfg.Namespace, reason))
	}
	_, err := address.ParseList("xds-address", cfg.XDSAddress)
	return errors.Join(append(errs, err)...)
}

// standing is a fleet without a run.
type standing struct {
	fleet     *fakeproxy.Fleet
	collector *collect.Collector
	sink      *fleetSink
	meter     *self.Meter
	clock     event.Clock
	want      int
	began     time.Time

	cancel     context.CancelFunc
	wait       sync.WaitGroup
	stopBudget func()
}

// startStanding lets a fleet connect. It stays until stop is called, also when ctx ends.
func startStanding(ctx context.Context, cfg FleetConfig, keepBytes bool) (*standing, error) {
	if err := errors.Join(cfg.Validate(), fakeproxy.CheckLimits(cfg.Spec)); err != nil {
		return nil, invalid(err)
	}
	roster := rosterOf(standalonePods(cfg.Spec.Count, cfg.Namespace), cfg.Spec)
	clock := event.NewClock()
	s := &standing{want: cfg.Spec.Count, began: time.Now(), clock: clock}
	var err error
	if s.collector, err = collect.New(collect.Config{
		Proxies: cfg.Spec.Count, Variants: roster.variants, Names: roster.names, Clock: clock,
	}); err != nil {
		return nil, err
	}
	s.sink = newFleetSink(s.collector, cfg.Spec.Count)
	var sink fakeproxy.Sink = s.sink
	if cfg.onlooker != nil {
		sink = both{s.sink, cfg.onlooker}
	}
	if s.fleet, err = fakeproxy.New(fakeproxy.Config{
		Spec: cfg.Spec, Addresses: strings.Split(cfg.XDSAddress, ","), Identities: roster.identities,
		Clock: clock, Sink: sink, Seed: cfg.Seed, Log: cfg.Log, KeepBytes: keepBytes,
	}); err != nil {
		return nil, err
	}
	s.stopBudget = self.BudgetGarbage()
	s.meter = self.Start()
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.collector.FleetConnects(clock.Now(), cfg.Spec.ConnectRate)
	s.wait.Go(func() { s.fleet.Run(ctx) })
	return s, nil
}

func (s *standing) stop() {
	s.cancel()
	s.wait.Wait()
	s.stopBudget()
}

// status says how the fleet is doing.
func (s *standing) status() Status {
	counts := s.fleet.Counts()
	status := Status{
		Phase: PhaseConnect, Elapsed: time.Since(s.began), Want: s.want,
		Connected: int(counts.Connected), Ready: int(counts.Ready), Refused: int(counts.Refused),
		Responses: int(counts.Responses),
	}
	if status.Ready == s.want {
		status.Phase = PhaseHold
	}
	return status
}

// KeepConnected connects a fleet and keeps it connected until ctx ends. The
// result says how that went; it has nothing on mutations. The error is not nil
// if no proxy could connect.
func KeepConnected(ctx context.Context, cfg FleetConfig) (*result.Result, error) {
	s, err := startStanding(ctx, cfg, false)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	stopProgress := startProgress(cfg.Progress, s.status)
	<-ctx.Done()
	stopProgress()
	stuck := len(s.fleet.Stuck())
	res := s.collector.Finish(collect.Final{})
	res.Convergence = &result.Convergence{StuckWarming: &stuck}
	res.Mutations, res.Propagation, res.Volume = nil, nil, nil // there were none
	in, out := s.fleet.WireBytes()
	res.Sync.Volume.WireBytes = &result.WireBytes{In: in, Out: out}
	addMisbehaviour(res, s.fleet.Counts())
	pauses, err := s.meter.Stop(res.Harness)
	if err != nil {
		res.Warnings = append(res.Warnings, err.Error())
	}
	verdict.Saturation(res.Harness, pauses, nil)
	if res.Proxies.Connected > 0 {
		return res, nil
	}
	return res, s.neverConnected()
}

// neverConnected says why there was no connection, as far as that is known.
func (s *standing) neverConnected() error {
	if err := s.sink.lastFailure(); err != nil {
		return fmt.Errorf("no proxy could connect: %w", err)
	}
	return errors.New("no proxy could connect: the control plane did not answer")
}

// DumpProxy connects one fake proxy, waits until it is ready, at most for limit,
// and describes what it then holds, with the content of the resources.
func DumpProxy(ctx context.Context, cfg FleetConfig, limit time.Duration) (fakeproxy.Dump, error) {
	cfg.Spec.Count = 1
	s, err := startStanding(ctx, cfg, true)
	if err != nil {
		return fakeproxy.Dump{}, err
	}
	defer s.stop()
	stopProgress := startProgress(cfg.Progress, s.status)
	err = poll(ctx, limit, func() bool { return s.fleet.Counts().Ready == 1 })
	stopProgress()
	dump := s.fleet.Dump(0)
	switch {
	case err != nil && !errors.Is(err, errLimit):
		return dump, err
	case !dump.Connected:
		return dump, s.neverConnected()
	}
	return dump, nil
}

// maxStandalonePods is how many addresses 198.18.0.0/15 has for proxies.
const maxStandalonePods = 1<<17 - 2

// standalonePods are the pods of n proxies that the control plane does not know as
// workloads. Their addresses are of the block set aside for benchmarks (RFC
// 2544), which no pod of a mesh is in.
func standalonePods(n int, namespace string) []mesh.Pod {
	pods := make([]mesh.Pod, n)
	ip := netip.AddrFrom4([4]byte{198, 18, 0, 1})
	for i := range pods {
		pods[i] = mesh.Pod{
			Name: mesh.ManagedByValue + "-" + strconv.Itoa(i), Namespace: namespace, Service: mesh.ManagedByValue,
			IP: ip.String(), Node: mesh.ManagedByValue, ServiceAccount: "default",
			Labels: map[string]string{"app": mesh.ManagedByValue},
		}
		ip = ip.Next()
	}
	return pods
}
