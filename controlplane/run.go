package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"time"

	adsv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/xdsbench/xdsbench/controlplane/faults"
	"github.com/xdsbench/xdsbench/controlplane/internal/discovery"
	"github.com/xdsbench/xdsbench/controlplane/internal/metrics"
	"github.com/xdsbench/xdsbench/controlplane/internal/registry"
	"github.com/xdsbench/xdsbench/controlplane/internal/wire"
)

const (
	// Request sizes grow with the subscription: on a reconnect, a Delta client
	// reports the version of everything it holds.
	maxRequestBytes = 64 << 20

	// Other requests are small; a big buffer per connection would be most of what
	// an idle proxy costs.
	readBufferBytes = 8 << 10

	// With a dynamic window, grpc-go would send a ping for every ACK of a proxy, to
	// estimate the bandwidth of the connection.
	windowBytes = 1 << 20

	headerTimeout = 10 * time.Second
)

// Run serves until ctx is done, and then returns nil, or until something fails.
// It returns when everything that it started has ended. Bad values in cfg.Env
// are reported together, before anything is started.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	settings, settingsErr := readSettings(cfg.Env, cfg.Log)
	injector, faultsErr := faults.New(cfg.Env)
	if err := errors.Join(settingsErr, faultsErr); err != nil {
		return fmt.Errorf("environment: %w", err)
	}
	client, objects, err := cfg.clients()
	if err != nil {
		return err
	}
	ads, web, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	m := metrics.New()
	settings.Metrics, settings.Faults, settings.Log = m, injector, cfg.Log
	settings.Registry = registry.New(settings.SendUnhealthy, m)
	server := discovery.New(settings)
	p := &plane{
		cfg: cfg, client: client, objects: objects, registry: settings.Registry, server: server, faults: injector, ads: ads,
		pages: &pages{server: server, faults: injector, metrics: m.Handler(), version: cfg.Version}, web: web,
	}
	return p.run(ctx)
}

func listen(ctx context.Context, cfg Config) (ads, web net.Listener, err error) {
	var lc net.ListenConfig
	ads, err = lc.Listen(ctx, "tcp", cfg.XDSAddress)
	if err != nil {
		return nil, nil, fmt.Errorf("XDS address %q: %w", cfg.XDSAddress, err)
	}
	web, err = lc.Listen(ctx, "tcp", cfg.HTTPAddress)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("HTTP address %q: %w", cfg.HTTPAddress, err), ads.Close())
	}
	return ads, web, nil
}

// plane is a running control plane.
type plane struct {
	cfg      Config
	client   kubernetes.Interface
	objects  dynamic.Interface // nil for none
	registry *registry.Registry
	server   *discovery.Server
	faults   *faults.Injector
	pages    *pages
	ads, web net.Listener
}

func (p *plane) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	handler := p.pages.handler()
	if p.cfg.WrapHTTP != nil {
		handler = p.cfg.WrapHTTP(handler)
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	group.Go(func() error { return unlessDone(ctx, web.Serve(p.web)) })
	stop, err := p.watch(ctx)
	if err != nil {
		err = unlessDone(ctx, err)
		cancel()
		stop()
		return errors.Join(err, p.ads.Close(), web.Close(), group.Wait())
	}
	defer stop()
	p.server.Push(p.registry.Listen(p.server))

	rpc := newGRPCServer()
	adsv3.RegisterAggregatedDiscoveryServiceServer(rpc, p.server)
	group.Go(func() error {
		p.server.Run(ctx)
		return nil
	})
	group.Go(func() error { return p.faults.Run(ctx) })
	group.Go(func() error { return unlessDone(ctx, rpc.Serve(p.ads)) })
	group.Go(func() error {
		<-ctx.Done()
		rpc.Stop()
		return web.Close()
	})
	addresses := Addresses{XDS: p.ads.Addr().String(), HTTP: p.web.Addr().String()}
	p.pages.ready.Store(true)
	p.cfg.Log.Info("control plane ready", "xds", addresses.XDS, "http", addresses.HTTP,
		"services", p.server.Services())
	if p.cfg.OnReady != nil {
		p.cfg.OnReady(addresses)
	}
	return errors.Join(group.Wait(), p.faults.Save(p.server.Version))
}

// watch fills the registry and follows the API server. stop, which is there with an
// error too, waits for the watches to end, which they do with ctx.
func (p *plane) watch(ctx context.Context) (stop func(), err error) {
	stopConfig := func() {}
	if p.objects != nil {
		stopConfig, err = p.registry.WatchConfig(ctx, p.client.Discovery(), p.objects)
		if err != nil {
			return stopConfig, err
		}
	}
	stopServices, err := p.registry.Watch(ctx, p.client)
	if err != nil {
		return stopConfig, err
	}
	return func() { stopServices(); stopConfig() }, nil
}

func newGRPCServer() *grpc.Server {
	return grpc.NewServer(
		grpc.ForceServerCodecV2(wire.NewCodec()),
		grpc.MaxConcurrentStreams(math.MaxUint32),
		grpc.MaxRecvMsgSize(maxRequestBytes),
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.ReadBufferSize(readBufferBytes),
		grpc.StaticStreamWindowSize(windowBytes),
		grpc.StaticConnWindowSize(windowBytes),
		grpc.WaitForHandlers(true),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 5 * time.Minute, Timeout: time.Minute}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	)
}

// unlessDone returns err, but nil if ctx is done: then err is only a consequence
// of that.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
