package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "gcpserver:", err)
		os.Exit(1) //nolint:gocritic // the signal handler need not be undone
	}
}

// run serves until ctx is done.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("gcpserver", flag.ContinueOnError)
	flags.SetOutput(stderr)
	kubeconfig := flags.String("kubeconfig", "", "file that names the API server")
	listen := flags.String("listen", "127.0.0.1:18000", "HOST:PORT of the ADS server")
	metrics := flags.String("metrics", "", "HOST:PORT of /metrics and /debug/pprof; empty for none")
	kind := flags.String("cache", "linear", "linear or snapshot")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("--kubeconfig %q: %w", *kubeconfig, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("--kubeconfig %q: %w", *kubeconfig, err)
	}
	cfg := serverConfig{Client: client, Cache: *kind, Log: slog.New(slog.NewTextHandler(stderr, nil))}
	var lc net.ListenConfig
	if cfg.XDS, err = lc.Listen(ctx, "tcp", *listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if *metrics != "" {
		if cfg.Metrics, err = lc.Listen(ctx, "tcp", *metrics); err != nil {
			return errors.Join(fmt.Errorf("--metrics: %w", err), cfg.XDS.Close())
		}
	}
	return serve(ctx, cfg)
}
