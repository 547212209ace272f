package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/experiment/anatomy"
	"github.com/xdsbench/xdsbench/experiment/compare"
	"github.com/xdsbench/xdsbench/internal/file"
)

const compareLong = `Compares two sets of saved runs, and says whether the new one is a regression.
OLD and NEW are each a result folder, a result.json, or a folder of repeated
results at any depth. A run is one sample, so repeat: five runs on each side are
the least that can tell at the default level.

  for i in 1 2 3 4 5; do xdsbench run steady -q -o results/old/$i; done
  (change something: a build, with --istiod-binary; a setting, with --set)
  for i in 1 2 3 4 5; do xdsbench run steady -q -o results/new/$i; done
  xdsbench compare results/old results/new

A sweep makes its repeats in turns, so that a drift of the machine favours none:

  xdsbench sweep steady --target istiod --istiod-binary ./old --repeat 5 -o ab \
      --vary target.binary=./old,./new
  xdsbench compare ab/runs/01-* ab/runs/02-*

Two anatomies (xdsbench anatomy) are compared kind by kind: counts exactly; bytes
beyond 2 %, CPU beyond 50 % and 6 ms, allocations beyond 30 % and 500 kB per change,
and the last proxy's latency where the repeats do not overlap. That finds differences
and calls none a regression.

More examples:

  xdsbench compare results/sotw results/delta               volumes, type by type
  xdsbench compare OLD NEW --threshold 10% --threshold propagation.all.p99=25%
  xdsbench compare OLD NEW --metric propagation.all.p99     of one metric, 4 runs can tell
  xdsbench compare OLD NEW --metric 'controlPlane.stages.*.p99' --format markdown
  xdsbench compare OLD NEW --all --format json -o compare.json

What is compared: each metric's medians over the runs, by the Mann-Whitney U
test. These metrics, marked •, decide:
  - propagation.all.p50 and p99, controlPlane.steady.cpuSeconds and peakRSSBytes,
    volume.wireBytes.in; those that the profile's SLOs limit; those that a
    --threshold NAME=... names. With --metric, the ones named instead.
  - counts that must be 0: undelivered, unknown states, diverged and the like,
    proxies.neverReady, and errors (contradictions that a result found in itself).
A regression is a change for the worse of a deciding metric that is significant
after Holm's correction for their number and beyond its threshold; or such a
count that was 0 in every old run and is not in a new one, however few the runs.
All other metrics are flagged, never fail, and are corrected among themselves
(Benjamini-Hochberg). Two single runs show the change, and whether it lies within
the scatter inside each run, but cannot tell.

Both sides must have been under the same load (mesh, proxies, churn, phases and what
else the profile asks of the control plane), unless --allow-different-load is given.

Exit code 0 if no regression was found (or the runs are too few to tell, which is
said), 5 if there was one, 1 for a set whose runs all failed, were cut short or
measured nothing (NO DATA), 2 for paths without results or different loads.`

// compareFlags are the flags of compare.
type compareFlags struct {
	compare.Options
	thresholds []string
	format     formatFlag
	out        string
}

func compareCommand(s streams) *cobra.Command {
	f := compareFlags{Options: compare.Options{Threshold: compare.DefaultThreshold}}
	c := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Compare two sets of saved runs, and find regressions",
		Long:  compareLong,
		Args:  argsExactly(2),
		RunE:  func(_ *cobra.Command, args []string) error { return f.run(s, args[0], args[1]) },
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.Metrics, "metric", nil, "compare this metric only, by its name in SLOs; a * stands for any part (repeatable)")
	flags.BoolVar(&f.All, "all", false, "show every metric")
	flags.BoolVar(&f.AllowDifferentLoad, "allow-different-load", false, "compare runs that were not under the same load")
	flags.Float64Var(&f.Alpha, "alpha", compare.DefaultAlpha, "level of significance")
	flags.StringArrayVar(&f.thresholds, "threshold", nil, "smallest change for the worse that is a regression: 5% for all metrics (the default), NAME=10% for one (repeatable)")
	f.format.register(flags, "text", "json", "markdown")
	flags.StringVarP(&f.out, "out", "o", "", "write to this file instead of stdout")
	return c
}

func (f *compareFlags) run(s streams, before, after string) error {
	if err := errors.Join(f.format.check(), f.ParseThresholds(f.thresholds), f.Validate()); err != nil {
		return usageError(err)
	}
	if anatomy.Is(before) || anatomy.Is(after) {
		return f.anatomies(s, before, after)
	}
	old, oldErr := compare.Load(before)
	current, newErr := compare.Load(after)
	if err := errors.Join(oldErr, newErr); err != nil {
		return usageError(err)
	}
	r, err := compare.Compare(old, current, f.Options)
	switch {
	case errors.Is(err, compare.ErrNoData):
		return err
	case err != nil:
		return usageError(err)
	}
	if err := f.print(s, func(w io.Writer) error { return printDocument(w, f.format.name, r.Document(), r) }); err != nil {
		return err
	}
	if r.Conclusion == compare.Regressed {
		var names []string
		for _, x := range r.Regressions {
			names = append(names, x.Metric)
		}
		return &exitError{code: exitRegression, err: fmt.Errorf("regression: %s", strings.Join(names, ", "))}
	}
	return nil
}

// anatomies compares two anatomies. A difference is no regression: it may be wanted.
func (f *compareFlags) anatomies(s streams, before, after string) error {
	old, oldErr := anatomy.Load(before)
	current, newErr := anatomy.Load(after)
	if err := errors.Join(oldErr, newErr); err != nil {
		return usageError(err)
	}
	c := anatomy.Compare(old, current)
	return f.print(s, func(w io.Writer) error { return printDocument(w, f.format.name, c.Document(), c) })
}

// print writes to stdout, or to the file of -o whole.
func (f *compareFlags) print(s streams, write func(io.Writer) error) error {
	if f.out != "" {
		return file.Write(f.out, write)
	}
	return write(s.stdout)
}
