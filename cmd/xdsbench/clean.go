package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/harness"
)

const cleanLong = `Removes everything that runs created on a cluster: the namespaces and nodes that
carry this project's labels, with all they hold. Nothing else is touched.`

func cleanCommand(s streams) *cobra.Command {
	var kubeconfig, kubeContext, runID string
	c := &cobra.Command{
		Use:   "clean --kubeconfig FILE",
		Short: "Remove everything that runs created on a cluster",
		Long:  cleanLong,
		Args:  argsExactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			if kubeconfig == "" {
				return usageError(errors.New("--kubeconfig: say which cluster to clean"))
			}
			api, err := harness.Connect(kubeconfig, kubeContext)
			if err != nil {
				return err
			}
			defer api.Close()
			n, err := harness.Clean(c.Context(), api.Client, runID)
			if err != nil {
				return interruptedOr(c.Context(), err)
			}
			fmt.Fprintf(s.stdout, "removed %d namespaces and nodes with all they held\n", n)
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", "", "the cluster to clean")
	flags.StringVar(&kubeContext, "context", "", "the kubeconfig's context; needed for a cluster that is not on this machine")
	flags.StringVar(&runID, "run", "", "only the objects of this run (environment.runID in its result)")
	return c
}
