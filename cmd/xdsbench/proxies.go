package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/node"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/internal/rate"
	"github.com/xdsbench/xdsbench/proxyconfig"
	"github.com/xdsbench/xdsbench/report"
)

const proxiesLong = `Fake Envoys alone: they connect to a running control plane and stay, with no
churn, until Ctrl-C or --duration. A summary is printed at the end. Their pods
need not exist: the control plane does not know them, and gives them what any
workload of the namespace gets.

With --dump, one fake Envoy connects, waits until it holds everything, and prints
it in the manner of istioctl proxy-config; a section may be named: clusters,
endpoints, listeners, routes or all.

With --watch, one fake Envoy stays and tells each response as it comes: what was
added, changed and removed, endpoint by endpoint, the size, and whether it was
accepted. With --dump as well it prints at the end what it then holds, and with or
without it on SIGUSR1: a fresh proxy would not show what this one was never told.

  xdsbench proxies --xds-address 127.0.0.1:15010 --count 1000 --connect-rate 50/s
  xdsbench proxies --xds-address 127.0.0.1:15010 --dump
  xdsbench proxies --xds-address 127.0.0.1:15010 --dump endpoints --format json
  xdsbench proxies --xds-address 127.0.0.1:15010 --watch --variant sotw`

// proxiesFlags are the flags of proxies.
type proxiesFlags struct {
	cfg         harness.FleetConfig
	connectRate string
	kind        string
	duration    time.Duration
	dump, watch bool
	timeout     time.Duration
	format      formatFlag
	quiet       bool
}

func proxiesCommand(s streams) *cobra.Command {
	f := proxiesFlags{cfg: harness.FleetConfig{Spec: fakeproxy.DefaultSpec()}}
	spec := &f.cfg.Spec
	c := &cobra.Command{
		Use:   "proxies --xds-address HOST:PORT [--watch] [--dump [SECTION]]",
		Short: "Fake Envoys alone: keep them connected, watch one, or dump what one holds",
		Long:  proxiesLong,
		Args:  argsAtMostOne(),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.resolve(args); err != nil {
				return usageError(err)
			}
			section := append(args, proxyconfig.All)[0]
			switch {
			case f.watch:
				return f.watchOne(c.Context(), s, section)
			case f.dump:
				return f.dumpOne(c.Context(), s, section)
			}
			return f.keep(c.Context(), s)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.cfg.XDSAddress, "xds-address", "", "address of the control plane; several separated by commas (required)")
	flags.IntVar(&spec.Count, "count", spec.Count, "number of fake proxies")
	flags.StringVar(&spec.Variant, "variant", spec.Variant, "xDS variant: sotw, delta or mixed")
	flags.StringVar(&f.connectRate, "connect-rate", spec.ConnectRate.String(), "how many connect per second")
	flags.StringVar(&f.kind, "kind", node.Sidecar, "node type: "+strings.Join(node.Kinds(), ", "))
	flags.StringVar(&f.cfg.Namespace, "namespace", "default", "the namespace they claim to be in")
	flags.DurationVar(&f.duration, "duration", 0, "how long to stay; 0 is until Ctrl-C")
	flags.BoolVar(&f.dump, "dump", false, "print what one proxy holds, and end; with --watch, at the end")
	flags.BoolVar(&f.watch, "watch", false, "tell each response that one proxy gets, until Ctrl-C or --duration")
	flags.DurationVar(&f.timeout, "timeout", 20*time.Second, "how long --dump without --watch waits until the proxy holds everything")
	f.format.register(flags, "text", "json")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on stderr")
	return c
}

// resolve checks the flags, all at once.
func (f *proxiesFlags) resolve(args []string) error {
	var errs []error
	perSecond, err := rate.Parse(f.connectRate)
	if err != nil {
		errs = append(errs, fmt.Errorf("--connect-rate: %w", err))
	} else {
		f.cfg.Spec.ConnectRate = perSecond
	}
	errs = append(errs, f.format.check())
	if f.watch && f.cfg.Spec.Variant == fakeproxy.VariantMixed {
		errs = append(errs, errors.New("--variant mixed: --watch is of one proxy: choose sotw or delta"))
	}
	f.cfg.Spec.Kinds = node.Shares{f.kind: 1}
	if f.duration < 0 {
		errs = append(errs, fmt.Errorf("--duration: %s: must be 0s or more", f.duration))
	}
	if len(args) > 0 && !f.dump {
		errs = append(errs, fmt.Errorf("%q: a section is for --dump", args[0]))
	} else if len(args) > 0 {
		errs = append(errs, proxyconfig.Check(args[0]))
	}
	if err == nil {
		errs = append(errs, f.cfg.Validate())
	}
	return errors.Join(errs...)
}

// limited ends with ctx, and after --duration if it is given.
func (f *proxiesFlags) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.duration > 0 {
		return context.WithTimeout(ctx, f.duration)
	}
	return context.WithCancel(ctx)
}

// keep holds the fleet until it is interrupted, which is its ordinary end.
func (f *proxiesFlags) keep(ctx context.Context, s streams) error {
	ctx, cancel := f.limited(ctx)
	defer cancel()
	show := newProgress(s.stderr, f.quiet)
	f.cfg.Progress = show.update
	res, err := harness.KeepConnected(ctx, f.cfg)
	show.done()
	if res == nil {
		return runError(err)
	}
	return errors.Join(err, printDocument(s.stdout, f.format.name, report.Fleet(res), res))
}

func (f *proxiesFlags) dumpOne(ctx context.Context, s streams, section string) error {
	show := newProgress(s.stderr, f.quiet)
	f.cfg.Progress = show.update
	dump, err := harness.DumpProxy(ctx, f.cfg, f.timeout)
	show.done()
	if err != nil {
		return interruptedOr(ctx, runError(err))
	}
	if !dump.Ready {
		fmt.Fprintf(s.stderr, "xdsbench: the proxy is not ready after %s: this is what it holds so far\n", f.timeout)
	}
	if dump, err = proxyconfig.Select(dump, section); err != nil {
		return usageError(err)
	}
	if f.format.name == "text" {
		return proxyconfig.Text(s.stdout, dump)
	}
	e := json.NewEncoder(s.stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(dump)
}

// watchOne tells what one proxy sees, until it is interrupted, which is its ordinary end.
func (f *proxiesFlags) watchOne(ctx context.Context, s streams, section string) error {
	ctx, cancel := f.limited(ctx)
	defer cancel()
	ask := make(chan struct{}, 1)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	defer signal.Stop(asked)
	var asking sync.WaitGroup
	asking.Go(func() {
		for {
			select {
			case <-asked:
				select {
				case ask <- struct{}{}:
				default: // it is being done
				}
			case <-ctx.Done():
				return
			}
		}
	})
	defer asking.Wait()
	defer cancel() // which it waits for
	text := f.format.name == "text"
	e := json.NewEncoder(s.stdout) // a line each
	e.SetEscapeHTML(false)
	var failed error
	err := harness.WatchProxy(ctx, f.cfg, ask, func(seen *proxyconfig.Seen) {
		if text {
			failed = errors.Join(failed, seen.Text(s.stdout))
		} else {
			failed = errors.Join(failed, e.Encode(seen))
		}
	}, func(d fakeproxy.Dump) {
		if ctx.Err() != nil && !f.dump {
			return
		}
		d, _ = proxyconfig.Select(d, section) // checked before
		if text {
			failed = errors.Join(failed, proxyconfig.Text(s.stdout, d))
		} else {
			failed = errors.Join(failed, e.Encode(map[string]any{"dump": d}))
		}
	})
	if err != nil {
		return runError(err)
	}
	return failed
}
