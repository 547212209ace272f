package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/experiment/capacity"
	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
	"github.com/xdsbench/xdsbench/harness"
)

const capacityLong = `The largest load that keeps the SLO, and what the load costs.

One field of the profile grows by a factor until the SLO breaks, the range ends
or the harness is the bottleneck; then the search bisects. A load counts as failed
only if it fails in two runs. Where the harness was the bottleneck, one larger load
is tried before the answer becomes "at least". A longer run at the end, the soak,
confirms the answer or lowers it.

  xdsbench capacity --grow proxies=100..5000
  xdsbench capacity steady --grow rate=2/s..200/s --slo propagation.all.p99=500ms
  xdsbench capacity --grow services=50..2000 --proxies 500 --duration 30s -o cap
  xdsbench capacity --grow proxies=100..5000 -o cap     run again, it continues
                                                        the search in cap

FIELD is proxies, rate, services, endpoints, or any field of the profile that is
a whole number or a rate, such as mesh.ports or churn[0].rate. Without an SLO in
the profile or --slo, propagation.all.p99 must be at most 2s, and nothing may be
undelivered or diverged.

A model of memory, CPU and p99 is fitted to the runs, with intervals and a check
on runs that it has not seen. It predicts other sizes; what is not given is as in
the runs:

  xdsbench capacity --grow proxies=100..5000 --predict proxies=20000,rate=15/s
  xdsbench capacity --from cap --predict proxies=20000,services=2000 \
      --replica-cpu 2 --replica-memory 4GiB            no new runs
  xdsbench capacity --from sweep1 --from sweep2 --sizes 1000x500,5000x1000

The model can only tell apart what varied in the runs: to learn what a service or
a mutation costs, add runs with other numbers of services and other rates by --from.
Whatever lies outside the measured range is marked.

Exit code 3 if even the smallest load breaks the SLO.`

// capacityFlags are the flags of capacity.
type capacityFlags struct {
	profileFlags
	grow, tolerance, soak string
	slo, from, predict    []string
	sizes                 []string
	repeat                int
	step, replicaCPU      float64
	replicaMemory         string
	output                outputFlags
	apiServer             apiServerFlags
}

func capacityCommand(s streams) *cobra.Command {
	var f capacityFlags
	c := &cobra.Command{
		Use:   "capacity [PROFILE]",
		Short: "Find the largest load that keeps the SLO, and a sizing model",
		Long:  capacityLong,
		Args:  argsAtMostOne(),
		RunE:  func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, c, args) },
	}
	flags := c.Flags()
	f.register(flags)
	f.output.register(flags, "folder for the runs and the report; one with the same search is continued (default results/capacity-PROFILE-TIME)", "text", "json", "markdown")
	f.apiServer.register(flags, meshKubeconfig)
	flags.StringVar(&f.grow, "grow", "", "what to grow: FIELD=FROM..TO, such as proxies=100..5000 or rate=1/s..200/s")
	flags.StringArrayVar(&f.slo, "slo", nil, "add a limit to the profile's SLO: METRIC=LIMIT, such as propagation.all.p99=2s (repeatable)")
	flags.Float64Var(&f.step, "step", 2, "factor of growth")
	flags.StringVar(&f.tolerance, "tolerance", "5%", "bisect until the bracket is this narrow")
	flags.IntVar(&f.repeat, "repeat", 1, "how often to search, for the spread; the answer is the median")
	flags.StringVar(&f.soak, "soak", "", "steady phase of the last run, at the found load; 0 for none (default twice the profile's)")
	flags.StringArrayVar(&f.from, "from", nil, "take the runs in this folder, or below it, into the model (repeatable)")
	flags.StringArrayVar(&f.predict, "predict", nil, "predict a size: proxies=20000,services=2000,endpoints=5,rate=15/s (repeatable)")
	flags.StringSliceVar(&f.sizes, "sizes", []string{"1000x500", "5000x1000", "10000x2000", "20000x5000"}, "sizing table: PROXIESxSERVICES, ...")
	flags.Float64Var(&f.replicaCPU, "replica-cpu", 0, "cores of one replica (default the measured machine's)")
	flags.StringVar(&f.replicaMemory, "replica-memory", "", "memory of one replica, such as 4GiB (default the measured machine's)")
	return c
}

func (f *capacityFlags) run(ctx context.Context, s streams, c *cobra.Command, args []string) error {
	options, plan, err := f.parse(c, args)
	if err != nil {
		return usageError(err)
	}
	if plan == nil {
		return f.sizing(s, options)
	}
	if _, err := sizing.Load(f.from...); err != nil {
		return usageError(fmt.Errorf("--from: %w", err))
	}
	makeRun, err := runner(s, f.apiServer)
	if err != nil {
		return err
	}
	dir := f.output.folder("capacity-", plan.Base)
	options.Commands = commandsOf(c, args, dir)
	show := newProgress(s.stderr, f.output.quiet)
	report, err := capacity.Search(ctx, capacity.Config{
		Dir: dir, Plan: plan, Run: makeRun, Report: options,
		Progress: func(run string, status harness.Status) {
			show.step = run + ": "
			show.update(status)
		},
	})
	show.done()
	if report == nil {
		return capacityError(err)
	}
	if err := errors.Join(err, f.print(s, report, dir)); err != nil {
		return interruptedOr(ctx, err)
	}
	return capacityError(report.Err())
}

// capacityError gives an error its exit code.
func capacityError(err error) error {
	switch {
	case errors.Is(err, capacity.ErrOtherPlan):
		return usageError(err)
	case errors.Is(err, capacity.ErrSLO):
		return &exitError{code: exitSLO, err: err}
	}
	return runError(err)
}

// sizing reports on saved runs alone.
func (f *capacityFlags) sizing(s streams, o capacity.Options) error {
	report, err := capacity.FromRuns(f.output.out, o)
	if report == nil {
		return usageError(err)
	}
	return errors.Join(err, f.print(s, report, f.output.out))
}

// print writes a report that is saved in dir.
func (f *capacityFlags) print(s streams, r *capacity.Report, dir string) error {
	return printDocument(s.stdout, f.output.format.name, r.Document(f.output.format.named(dir)), r)
}
