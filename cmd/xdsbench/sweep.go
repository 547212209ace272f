package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/experiment/sweep"
)

const sweepLong = `Which settings give which latency at which cost? A sweep runs a profile once for
each combination of the values that fields take in turn, --repeat times over,
each run on a fresh control plane, in random order. It ends in a table of the
settings, the Pareto front of p99 latency against the control plane's CPU, and
advice under the profile's SLO.

--vary takes any field of a profile (xdsbench profiles show quickstart), and rate:

  xdsbench sweep --vary target.env.PILOT_DEBOUNCE_AFTER=10ms,50ms,100ms,500ms
  xdsbench sweep steady --set slo.propagation.all.p99=500ms --repeat 5 \
      --vary target.env.PILOT_PUSH_THROTTLE=20,100,500 --vary proxies.variant=sotw,delta
  xdsbench sweep --target istiod --istiod-binary ./pilot-discovery \
      --vary target.env.GOGC=50,100,200 --vary target.env.GOMAXPROCS=1,2
  xdsbench sweep --vary proxies.variant=sotw,delta --set pprof.cpu=10s  where does the CPU go?
  xdsbench sweep ... --dry-run                                         settings and time, no run

A value that holds a comma goes in double quotes: --vary 'target.exec="a,b",c'.

A sweep can be interrupted: the same command line with the same -o resumes it, and
repeats no finished run. A run that fails does not end the sweep; its setting is in
the table with the reason, and is tried again the next time.

In the folder: report.md with charts, report.json, a folder per run, and, where
pprof is on, each setting's merged profiles. "xdsbench report DIR" renders it again.

Advice is drawn only from settings with two valid runs or more whose p99 spans at
most half its median; differences within the spread of the repeats are called noise.

Exit codes: 0 done, 1 a setting has no valid run, 2 usage, 130 interrupted.`

// sweepFlags are the flags of sweep.
type sweepFlags struct {
	profileFlags
	output    outputFlags
	apiServer apiServerFlags
	vary      []string
	repeat    int
	dryRun    bool
}

func sweepCommand(s streams) *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep [PROFILE] --vary FIELD=V1,V2,...",
		Short: "Run a profile with many settings: trade-offs, Pareto front, advice",
		Long:  sweepLong,
		Args:  argsAtMostOne(),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), s, c, args)
		},
	}
	flags := c.Flags()
	f.register(flags)
	f.output.register(flags, "folder for the results; one with an unfinished sweep of the same plan is continued (default results/sweep-PROFILE-TIME)", "text", "json", "markdown")
	f.apiServer.register(flags, meshKubeconfig)
	flags.StringArrayVar(&f.vary, "vary", nil, "a field and the values it takes in turn: FIELD=V1,V2,... (repeatable: all combinations are run)")
	flags.IntVar(&f.repeat, "repeat", 3, "how often each setting is run")
	flags.BoolVar(&f.dryRun, "dry-run", false, "list the settings and the estimated time, and run nothing")
	return c
}

func (f *sweepFlags) run(ctx context.Context, s streams, c *cobra.Command, args []string) error {
	plan, settings, err := f.plan(c, args)
	if err := errors.Join(f.output.format.check(), err); err != nil {
		return usageError(err)
	}
	if f.dryRun {
		return f.list(s.stdout, plan, settings)
	}
	makeRun, err := runner(s, f.apiServer)
	if err != nil {
		return err
	}
	dir := f.output.folder("sweep-", plan.Base)
	show := newProgress(s.stderr, f.output.quiet)
	err = sweep.Run(ctx, sweep.Config{Dir: dir, Plan: plan, Run: makeRun, Progress: func(p sweep.Progress) {
		show.step = fmt.Sprintf("run %d of %d, %s left  %s  ", p.Run, p.Runs, roughly(p.Left), p.Setting)
		show.update(p.Status)
	}})
	show.done()
	switch {
	case errors.Is(err, sweep.ErrOtherPlan):
		return usageError(err)
	case err != nil && ctx.Err() == nil:
		return err
	}
	r, err := sweep.Load(dir)
	if err != nil {
		return interruptedOr(ctx, err)
	}
	err = errors.Join(r.Files(dir), printDocument(s.stdout, f.output.format.name, r.Document(f.output.format.named(dir)), r))
	return f.verdict(ctx, s, r, err)
}

// plan reads the command line. The error lists every problem of every setting.
func (f *sweepFlags) plan(c *cobra.Command, args []string) (*sweep.Plan, []sweep.Setting, error) {
	vary, varyErr := sweep.ParseVary(f.vary)
	base, err := f.resolve(c, args)
	if err := errors.Join(varyErr, err); err != nil {
		return nil, nil, err
	}
	plan := &sweep.Plan{Base: base, Vary: vary, Repeat: f.repeat, Kubeconfig: f.apiServer.kubeconfig, Context: f.apiServer.context}
	settings, err := plan.Settings()
	if err != nil {
		return nil, nil, err
	}
	for _, setting := range settings {
		if err := f.apiServer.check(setting.Profile); err != nil {
			return nil, nil, err
		}
	}
	return plan, settings, nil
}

// list shows what would be run.
func (f *sweepFlags) list(w io.Writer, plan *sweep.Plan, settings []sweep.Setting) error {
	for _, s := range settings {
		name := s.Name
		if s.Base {
			name += " (as the profile)"
		}
		fmt.Fprintln(w, name)
	}
	_, err := fmt.Fprintf(w, "\n%d settings, %d runs of each: %d runs, about %s and what the target takes to start\n",
		len(settings), plan.Repeat, len(settings)*plan.Repeat, roughly(plan.Estimate(settings)))
	return err
}

// verdict turns what the sweep came to into the command's exit code.
func (f *sweepFlags) verdict(ctx context.Context, s streams, r *sweep.Report, err error) error {
	if err != nil {
		return interruptedOr(ctx, err)
	}
	if ctx.Err() != nil {
		fmt.Fprintf(s.stderr, "to resume, repeat the command line with -o %s: finished runs are kept\n", f.output.out)
		return interruptedOr(ctx, nil)
	}
	if bad := r.Failed(); len(bad) > 0 {
		return &exitError{code: exitFailed, err: fmt.Errorf("no valid run of %s (see the report)", strings.Join(bad, "; "))}
	}
	return nil
}

// roughly rounds a time that is left.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
