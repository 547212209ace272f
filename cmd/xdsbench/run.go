package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/internal/listen"
	"github.com/xdsbench/xdsbench/report"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/verdict"
)

const runLong = `One run: start the control plane, connect the fleet, change the mesh at the
profile's rate, wait for the last delivery, check every proxy's state, report.

The profile is a built-in one by name (default: quickstart), or a file with -f.
Any of its fields can be set with --set; the other flags are short forms:

  xdsbench run
  xdsbench run --proxies 2000 --set mesh.services=500 --set 'churn[0].rate=5/s'
  xdsbench run --proxies 10000 --set target.priority=idle
  xdsbench run steady --variant delta --duration 5m -o results/steady
  xdsbench run --target istiod --istiod-binary ./pilot-discovery \
      --set target.env.PILOT_DEBOUNCE_AFTER=10ms
  xdsbench run --set target.replicas=2 --set target.outage.replicas=1 \
      --set target.outage.at=5s --set target.outage.for=5s
  xdsbench run --target exec --clusters '{service}.{namespace}:{port}' \
      --exec './my-server --kubeconfig {kubeconfig} --listen {xds}'
  xdsbench run --target external --xds-address 127.0.0.1:15010 --kubeconfig kc

On a machine that fleet and control plane share, the control plane gives way to the
fleet (target.priority: normal, low or idle; default low), so that no message waits
for its time stamp. With idle it gives way to everything else on the machine, too.

Without --kubeconfig the mesh lives in an in-memory API server, and no Kubernetes
is needed. With it, the run creates namespaces, nodes, services, pods and
EndpointSlices of its own on that API server, all labelled, and removes them at the
end. An API server that is not on this machine must be named with --context.`

// runFlags are the flags of run.
type runFlags struct {
	profileFlags
	output    outputFlags
	apiServer apiServerFlags
	strict    bool
	// allowDefects leaves defects out of the exit code.
	allowDefects bool
	profile      bool
	metrics      string
	allowRemote  bool // of metrics
}

func runCommand(s streams) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [PROFILE]",
		Short: "Run one load profile and report",
		Long:  runLong,
		Args:  argsAtMostOne(),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), s, c, args)
		},
	}
	flags := c.Flags()
	f.register(flags)
	f.output.register(flags, "folder for the results; must not exist (default results/PROFILE-TIME)", "text", "json", "markdown")
	f.apiServer.register(flags, meshKubeconfig)
	flags.BoolVar(&f.allowDefects, "allow-defects", false, "exit 0 although something was undelivered, diverged or unknown: for who injects faults")
	flags.BoolVar(&f.strict, "strict", false, "exit 4 if the harness, not the control plane, was the bottleneck")
	flags.BoolVar(&f.profile, "self-profile", false, "write a CPU and a heap profile of the harness itself into the results")
	flags.StringVar(&f.metrics, "metrics-address", "", "serve the run's own figures to Prometheus at this HOST:PORT, under /metrics")
	flags.BoolVar(&f.allowRemote, "allow-remote", false, "let other machines reach --metrics-address, which has neither TLS nor a token")
	return c
}

func (f *runFlags) run(ctx context.Context, s streams, c *cobra.Command, args []string) error {
	profile, err := f.resolve(c, args)
	if err := errors.Join(f.output.format.check(), err); err != nil {
		return usageError(err)
	}
	if err := errors.Join(f.apiServer.check(profile), f.checkMetricsAddress()); err != nil {
		return usageError(err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("path of this program: %w", err)
	}
	show := newProgress(s.stderr, f.output.quiet)
	res, err := runOnce(ctx, harness.Config{
		Profile:    profile,
		Dir:        f.output.folder("", profile),
		Kubeconfig: f.apiServer.kubeconfig,
		Context:    f.apiServer.context,
		Environ:    s.environ,
		Self:       self,
		Version:    buildVersion(),
		Progress:   show.update,

		SelfProfile:    f.profile,
		MetricsAddress: f.metrics,
	})
	show.done()
	if res == nil {
		return interruptedOr(ctx, runError(err))
	}
	d, describeErr := report.Document(res, f.output.format.named(f.output.folder("", profile)))
	if describeErr == nil {
		describeErr = printDocument(s.stdout, f.output.format.name, d, res)
	}
	return interruptedOr(ctx, f.exitCode(res, errors.Join(err, describeErr)))
}

// checkMetricsAddress reports an address that other machines reach, unless that is
// meant.
func (f *runFlags) checkMetricsAddress() error {
	if f.metrics == "" || f.allowRemote {
		return nil
	}
	if _, err := listen.Loopback(f.metrics, "give --allow-remote"); err != nil {
		return fmt.Errorf("--metrics-address: %w", err)
	}
	return nil
}

// exitCode turns what a finished run found into the command's exit code.
func (f *runFlags) exitCode(r *result.Result, err error) error {
	if err != nil {
		return runError(err)
	}
	for _, x := range []struct {
		verdict string
		asked   bool
		code    int
		text    string
	}{
		{verdict.Failed, true, exitFailed, "the run failed"},
		{verdict.NoData, true, exitFailed, "nothing was measured"},
		{verdict.Defects, !f.allowDefects, exitDefects, "proxies did not get what they had to, or the numbers contradict each other (--allow-defects if that is meant)"},
		{verdict.SLOMissed, true, exitSLO, "an SLO was missed"},
		{verdict.Saturated, f.strict, exitSaturated, "the load generator was the bottleneck: the numbers say nothing of the control plane"},
	} {
		if x.asked && verdict.Has(r, x.verdict) {
			return &exitError{code: x.code, err: errors.New(x.text + " (see the report)")}
		}
	}
	if f.strict && r.Harness != nil && r.Harness.Unknown != "" {
		return &exitError{code: exitSaturated, err: errors.New("whether the load generator was the bottleneck is not known: " + r.Harness.Unknown)}
	}
	return nil
}

// runError gives a failed run its exit code.
func runError(err error) error {
	if errors.Is(err, harness.ErrInvalid) {
		return usageError(err)
	}
	return err
}

// interruptedOr returns the error of an interrupted command if ctx was
// cancelled, and err otherwise. Of what an interrupted command could not do, only
// what it left behind and what it waited for in vain is worth telling.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	interrupted := errors.New("interrupted")
	if errors.Is(err, harness.ErrLeftBehind) || errors.Is(err, harness.ErrNoAnswer) {
		interrupted = errors.Join(interrupted, err)
	}
	return &exitError{code: exitInterrupted, err: interrupted}
}
