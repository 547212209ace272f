package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	discoverypb "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	xds "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"k8s.io/client-go/kubernetes"
)

// serverConfig says what to watch and where to serve. The listeners are closed
// when serve returns.
type serverConfig struct {
	Client  kubernetes.Interface
	XDS     net.Listener
	Metrics net.Listener // may be nil
	Cache   string       // "linear" or "snapshot"
	Log     *slog.Logger
}

// serve answers ADS streams until ctx is done, once all that the API server
// holds is known: a proxy never gets half a mesh.
func serve(ctx context.Context, cfg serverConfig) error {
	st, err := newStore(cfg.Cache)
	if err != nil {
		return errors.Join(err, closeAll(cfg))
	}
	group, ctx := errgroup.WithContext(ctx)
	if cfg.Metrics != nil {
		server := &http.Server{Handler: adminHandler(), ReadHeaderTimeout: 10 * time.Second}
		group.Go(func() error { return ignoreClosed(server.Serve(cfg.Metrics)) })
		group.Go(func() error {
			<-ctx.Done()
			return server.Close()
		})
	}

	ready := make(chan struct{})
	group.Go(func() error { return watch(ctx, cfg.Client, st, ready) })

	grpcServer := grpc.NewServer(
		grpc.MaxConcurrentStreams(math.MaxUint32),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)
	discoverypb.RegisterAggregatedDiscoveryServiceServer(grpcServer,
		xds.NewServer(ctx, st.source(), nil, sotw.WithOrderedADS()))
	group.Go(func() error {
		select {
		case <-ready:
		case <-ctx.Done():
			return cfg.XDS.Close()
		}
		cfg.Log.Info("serving", "xds", cfg.XDS.Addr().String(), "cache", cfg.Cache)
		return ignoreClosed(grpcServer.Serve(cfg.XDS))
	})
	group.Go(func() error {
		<-ctx.Done()
		grpcServer.Stop() // ADS streams do not end by themselves
		return nil
	})
	return group.Wait()
}

// closeAll closes the listeners of a server that does not start.
func closeAll(cfg serverConfig) error {
	err := cfg.XDS.Close()
	if cfg.Metrics != nil {
		err = errors.Join(err, cfg.Metrics.Close())
	}
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.Handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "gcpserver") })
	return mux
}
