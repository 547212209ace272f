package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/experiment/calibrate"
	"github.com/xdsbench/xdsbench/harness"
)

const calibrateLong = `Checks that the harness measures correctly on this machine. The embedded control
plane injects known faults (delays, unserved proxies, stale endpoints, lost
updates, repeated pushes, endpoints before their clusters) and records them; the
table compares the record with what the harness measured. Delays must agree
within 1 ms or 2 %, everything else exactly, by name.

Exit code 0 if everything agrees, 1 otherwise. On a busy machine delays can be
off for that reason; a warning then says that the harness was the bottleneck.`

// calibrateFlags are the flags of calibrate.
type calibrateFlags struct {
	proxies int
	quick   bool
	output  outputFlags
}

func calibrateCommand(s streams) *cobra.Command {
	var f calibrateFlags
	c := &cobra.Command{
		Use:   "calibrate",
		Short: "Inject known faults and compare what the harness reports with them",
		Long:  calibrateLong,
		Args:  argsExactly(0),
		RunE:  func(c *cobra.Command, _ []string) error { return f.run(c.Context(), s) },
	}
	flags := c.Flags()
	flags.IntVar(&f.proxies, "proxies", 500, "number of fake proxies")
	flags.BoolVar(&f.quick, "quick", false, "one delay only, shorter runs")
	f.output.register(flags, "keep the results of the runs in this folder, which must not exist", "text", "json", "markdown")
	return c
}

func (f *calibrateFlags) run(ctx context.Context, s streams) (err error) {
	if err := f.output.format.check(); err != nil {
		return usageError(err)
	}
	dir, remove, err := f.folder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("path of this program: %w", err)
	}
	show := newProgress(s.stderr, f.output.quiet)
	found, err := calibrate.Run(ctx, calibrate.Config{
		Proxies: f.proxies, Quick: f.quick, Dir: dir,
		Environ: s.environ, Self: self, Version: buildVersion(),
		Progress: func(run, runs int, status harness.Status) {
			show.step = fmt.Sprintf("run %d of %d: ", run, runs)
			show.update(status)
		},
	})
	show.done()
	if err != nil {
		return interruptedOr(ctx, runError(err))
	}
	if err := printDocument(s.stdout, f.output.format.name, found.Document(), found); err != nil {
		return err
	}
	if !found.Pass {
		return &exitError{code: exitFailed, err: errors.New("the harness does not report what was injected (see the table)")}
	}
	return nil
}

// folder returns where the runs go, and how to tidy up after them.
func (f *calibrateFlags) folder() (dir string, remove func() error, err error) {
	if f.output.out == "" {
		dir, err = os.MkdirTemp("", "xdsbench-calibrate-")
		return dir, func() error { return os.RemoveAll(dir) }, err
	}
	if _, err := os.Stat(f.output.out); err == nil {
		return "", nil, usageError(fmt.Errorf("output folder %s: already exists: choose another with -o, or remove it", f.output.out))
	}
	return f.output.out, func() error { return nil }, nil
}
