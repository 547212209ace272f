package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/harness"
)

const cleanLong = `Removes everything that runs created on an API server: the namespaces, nodes and
objects of any other kind that carry this project's labels, with all they hold. Nothing
else is touched.`

func cleanCommand(s streams) *cobra.Command {
	var api apiServerFlags
	var runID string
	c := &cobra.Command{
		Use:   "clean --kubeconfig FILE",
		Short: "Remove everything that runs created on an API server",
		Long:  cleanLong,
		Args:  argsExactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			if api.kubeconfig == "" {
				return usageError(errors.New("--kubeconfig: say which API server to clean"))
			}
			server, err := harness.Connect(api.kubeconfig, api.context)
			if err != nil {
				return err
			}
			defer server.Close()
			n, err := harness.Clean(c.Context(), server.Client, server.Dynamic, runID)
			if err != nil {
				return interruptedOr(c.Context(), err)
			}
			fmt.Fprintf(s.stdout, "removed %d namespaces, nodes and other cluster-scoped objects, with all they held\n", n)
			return nil
		},
	}
	flags := c.Flags()
	api.register(flags, "the API server to clean")
	flags.StringVar(&runID, "run", "", "only the objects of this run (environment.runID in its result)")
	return c
}
