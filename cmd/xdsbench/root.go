package main

import (
	"context"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is set at build time with -ldflags "-X main.version=...".
var version string

const rootLong = `xdsbench measures xDS control planes under load.

Thousands of fake Envoys hold ADS streams to a control plane while Kubernetes
EndpointSlices change behind it at a set rate. For every change and every proxy
it records when the change arrived and what it cost, and at the end it checks
that every proxy holds the right state.

Start here:
  xdsbench run                         the quickstart, on the embedded control plane
  xdsbench run --target istiod --istiod-binary ./pilot-discovery
  xdsbench profiles list
  xdsbench sweep --help                which settings give which latency at which cost
  xdsbench capacity --help             the largest load that keeps the SLO, and a sizing model
  xdsbench anatomy --help              what each kind of change costs
  xdsbench compare OLD NEW             two sets of saved runs: is the new one worse?
  xdsbench calibrate                   are the numbers true, on this machine?
  xdsbench proxies --help              a fleet alone, or a look into one fake Envoy

Exit codes:
  0    done
  1    the run failed, or nothing was measured
  2    usage, or an invalid profile
  3    an SLO of the profile was missed
  4    the load generator was the bottleneck, and --strict was set
  5    compare found a regression
  6    defects: something undelivered, diverged or unknown (--allow-defects: 0)
  130  interrupted: what was measured is saved, within 10 s, and marked partial`

// streams are where a command writes, and the environment it reads.
type streams struct {
	environ        []string
	stdout, stderr io.Writer
}

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	s := streams{environ: environ, stdout: stdout, stderr: stderr}
	root := &cobra.Command{
		Use:           "xdsbench",
		Short:         "Load tests and benchmarks for xDS control planes",
		Long:          rootLong,
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError(withHint(c, err))
	})
	root.AddCommand(runCommand(s), reportCommand(s), profilesCommand(s), proxiesCommand(s),
		controlplaneCommand(s), fakekubeCommand(s), cleanCommand(s), calibrateCommand(s), sweepCommand(s), compareCommand(s),
		capacityCommand(s), anatomyCommand(s))
	err := root.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
		err = usageError(withHint(root, err))
	}
	return explain(stderr, err)
}

// withHint adds where to look to an error about the command line.
func withHint(c *cobra.Command, err error) error {
	return &hintError{err: err, command: c.CommandPath()}
}

type hintError struct {
	err     error
	command string
}

func (e *hintError) Error() string {
	return e.err.Error() + "; see `" + e.command + " --help`"
}

func (e *hintError) Unwrap() error { return e.err }

// argsAtMostOne accepts one argument or none and makes more a usage error.
func argsAtMostOne() cobra.PositionalArgs { return asUsage(cobra.MaximumNArgs(1)) }

// argsExactly accepts n arguments and makes any other number a usage error.
func argsExactly(n int) cobra.PositionalArgs { return asUsage(cobra.ExactArgs(n)) }

func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageError(withHint(c, err))
		}
		return nil
	}
}

// buildVersion returns the version set at build time, or the module's.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
