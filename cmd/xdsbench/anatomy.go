package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/experiment/anatomy"
	"github.com/xdsbench/xdsbench/harness"
)

const anatomyLong = `What does each kind of change cost? On a quiet mesh with a few proxies of each kind
and variant, every kind of change is made alone, --repeat times, and the table says
what it caused: the types that were pushed, whether the push was full, how many
proxies it reached, responses, resources and bytes, the control plane's CPU and
allocations beyond idle, and when the first half of the proxies and the last one had
it. SotW and Delta stand beside each other.

  xdsbench anatomy                                           the embedded control plane
  xdsbench anatomy --target istiod --istiod-binary ./pilot-discovery -o old
  xdsbench anatomy --kinds pod-delete,service-add --repeat 5
  xdsbench anatomy --set mesh.services=500 --proxies 40      what grows with the mesh?

Two anatomies, such as of two versions of a control plane, can be compared: counts
exactly, times beyond their noise.

  xdsbench compare old new

A kind takes a second per repeat and one more. Kinds that the control plane cannot be
asked for are listed with the reason. PROFILE or -f names another mesh and fleet than
the built-in profile "anatomy"; its churn is replaced. The idle phase is as long as a
kind's window, so that what scrapes cost cancels out.

In the folder: anatomy.json, anatomy.md, and the run's own results in run/. An
interrupted anatomy has the kinds that were made by then.

Exit codes: 0 done, 1 the run failed, 2 usage, 130 interrupted.`

// anatomyFlags are the flags of anatomy.
type anatomyFlags struct {
	profileFlags
	output    outputFlags
	apiServer apiServerFlags
	kinds     []string
	repeat    int
}

func anatomyCommand(s streams) *cobra.Command {
	var f anatomyFlags
	c := &cobra.Command{
		Use:   "anatomy [PROFILE]",
		Short: "Make every kind of change alone: what is pushed, to whom, at what cost",
		Long:  anatomyLong,
		Args:  argsAtMostOne(),
		RunE:  func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, c, args) },
	}
	flags := c.Flags()
	f.register(flags)
	f.output.register(flags, "folder for the results, which must not exist (default results/anatomy-TIME)", "text", "json", "markdown")
	f.apiServer.register(flags, meshKubeconfig)
	flags.StringSliceVar(&f.kinds, "kinds", nil, "kinds of change to make, separated by commas (default all)")
	flags.IntVar(&f.repeat, "repeat", 3, "how often each kind is made")
	return c
}

func (f *anatomyFlags) run(ctx context.Context, s streams, c *cobra.Command, args []string) error {
	if len(args) == 0 && f.file == "" {
		args = []string{"anatomy"}
	}
	p, err := f.resolve(c, args)
	if err == nil {
		err = f.apiServer.check(p)
	}
	if err := errors.Join(f.output.format.check(), err); err != nil {
		return usageError(err)
	}
	makeRun, err := runner(s, f.apiServer)
	if err != nil {
		return err
	}
	dir := f.output.folder(prefixOf(p.Name), p)
	show := newProgress(s.stderr, f.output.quiet)
	a, err := anatomy.Run(ctx, anatomy.Config{
		Profile: p, Kinds: f.kinds, Repeat: f.repeat, Dir: dir, Run: makeRun,
		Progress: func(kind string, status harness.Status) {
			if show.step = ""; kind != "" {
				show.step = kind + ": "
			}
			show.update(status)
		},
	})
	show.done()
	if a == nil {
		return interruptedOr(ctx, runError(err))
	}
	err = errors.Join(err, printDocument(s.stdout, f.output.format.name, a.Document(f.output.format.named(dir)), a))
	return interruptedOr(ctx, runError(err))
}

// prefixOf is what the name of a new folder begins with before a profile's name.
func prefixOf(profile string) string {
	if strings.HasPrefix(profile, "anatomy") {
		return ""
	}
	return "anatomy-"
}
