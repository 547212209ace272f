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

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/keepalive"
)

const (
	// updateBacklog lets informers go on while the debouncer starts a push.
	updateBacklog = 256

	// Request sizes grow with the subscription: on a reconnect, a Delta client
	// reports the version of everything it holds.
	maxRequestBytes = 64 << 20

	// Requests are small but for those; a big buffer per connection would be
	// most of what an idle proxy costs.
	readBufferBytes = 8 << 10

	// A window that adapts costs a ping, and its answer, for every ACK that a proxy
	// sends: grpc-go measures the bandwidth of a connection with them.
	windowBytes = 1 << 20

	headerTimeout = 10 * time.Second
)

// Run serves until ctx is done, which is no error, or something fails. It
// returns when everything it started has ended. Bad values in cfg.Env are
// reported together, before anything is started.
func Run(ctx context.Context, cfg Config) error {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	knobs, err := parseEnv(cfg.Env, log)
	if err != nil {
		return fmt.Errorf("environment: %w", err)
	}
	client, err := cfg.client()
	if err != nil {
		return err
	}
	xds, web, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	m := newMetrics()
	reg := newRegistry(knobs.sendUnhealthy, m)
	watch, err := newWatcher(client, reg)
	if err != nil {
		return errors.Join(err, xds.Close(), web.Close())
	}
	server := newDiscoveryServer(reg, m, knobs, log)
	if server.faults, err = newFaults(knobs.faults); err != nil {
		return errors.Join(err, xds.Close(), web.Close())
	}
	p := &plane{
		knobs:   knobs,
		log:     log,
		watch:   watch,
		server:  server,
		updates: make(chan *update, updateBacklog),
		xds:     xds,
		web:     web,
	}
	p.pages = &pages{server: p.server, version: cfg.Version}
	err = p.run(ctx, cfg.OnReady)
	return errors.Join(err, server.faults.save(server.snapshot.Load()))
}

func listen(ctx context.Context, cfg Config) (xds, web net.Listener, err error) {
	var lc net.ListenConfig
	xds, err = lc.Listen(ctx, "tcp", cfg.XDSAddress)
	if err != nil {
		return nil, nil, fmt.Errorf("XDS address %q: %w", cfg.XDSAddress, err)
	}
	web, err = lc.Listen(ctx, "tcp", cfg.HTTPAddress)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("HTTP address %q: %w", cfg.HTTPAddress, err), xds.Close())
	}
	return xds, web, nil
}

// plane is a running control plane.
type plane struct {
	knobs    settings
	log      *slog.Logger
	watch    *watcher
	server   *discoveryServer
	pages    *pages
	updates  chan *update
	xds, web net.Listener
}

func (p *plane) run(parent context.Context, onReady func(Addresses)) error {
	group, ctx := errgroup.WithContext(parent)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reg := p.server.registry
	reg.emit = func(u *update) {
		select {
		case p.updates <- u:
		case <-ctx.Done():
		}
	}
	reg.proxyChanged = p.server.pushProxies

	web := &http.Server{Handler: p.pages.handler(), ReadHeaderTimeout: headerTimeout}
	group.Go(func() error { return ignoreClosed(web.Serve(p.web)) })
	group.Go(func() error {
		<-ctx.Done()
		return web.Close()
	})
	group.Go(func() error {
		defer p.watch.stop()
		defer cancel() // before stop, which waits for it
		if err := p.watch.run(ctx); err != nil {
			return errors.Join(p.xds.Close(), stopped(ctx, err))
		}
		p.server.push(reg.start())
		return p.serve(ctx, onReady)
	})
	return group.Wait()
}

// serve answers proxies until ctx is done.
func (p *plane) serve(ctx context.Context, onReady func(Addresses)) error {
	rpc := newGRPCServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(rpc, p.server)
	debounce := &debouncer{
		after:  p.knobs.debounceAfter,
		limit:  p.knobs.debounceMax,
		eds:    p.knobs.edsDebounce,
		push:   p.server.push,
		record: func(d time.Duration) { p.server.metrics.debounceTime.Observe(d.Seconds()) },
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		debounce.run(ctx, p.updates)
		return nil
	})
	group.Go(func() error {
		p.server.dispatch(ctx)
		return nil
	})
	if timer := p.server.faults.delays(); timer != nil {
		group.Go(func() error { return timer.run(ctx) })
	}
	group.Go(func() error { return stopped(ctx, rpc.Serve(p.xds)) })
	group.Go(func() error {
		<-ctx.Done()
		rpc.Stop()
		return nil
	})
	addresses := Addresses{XDS: p.xds.Addr().String(), HTTP: p.web.Addr().String()}
	p.pages.ready.Store(true)
	p.log.Info("control plane ready", "xds", addresses.XDS, "http", addresses.HTTP,
		"services", len(p.server.snapshot.Load().routing.services), "throttle", p.knobs.pushThrottle)
	if onReady != nil {
		onReady(addresses)
	}
	return group.Wait()
}

func newGRPCServer() *grpc.Server {
	return grpc.NewServer(
		grpc.ForceServerCodecV2(wireCodec{encoding.GetCodecV2(proto.Name)}),
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

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// stopped returns nil if ctx has ended, since then err is only its echo.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
