package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/fakekube"
)

const fakekubeLong = `The Kubernetes in-memory API server, alone: kubectl, client-go and istiod work
against it. It holds objects and nothing runs in it; all is lost at its end.

  xdsbench fakekube --write-kubeconfig kc &
  kubectl --kubeconfig kc get namespaces
  xdsbench run --target external --xds-address 127.0.0.1:15010 --kubeconfig kc`

func fakekubeCommand(s streams) *cobra.Command {
	var address, kubeconfig string
	c := &cobra.Command{
		Use:   "fakekube --write-kubeconfig FILE",
		Short: "The in-memory API server alone",
		Long:  fakekubeLong,
		Args:  argsExactly(0),
		RunE: func(c *cobra.Command, _ []string) (err error) {
			ctx := c.Context()
			log := slog.New(slog.NewTextHandler(s.stderr, nil))
			server := fakekube.NewServer(fakekube.NewStore(fakekube.Options{}), fakekube.ServerOptions{Log: log})
			if err := server.Start(ctx, address); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, server.Close()) }()
			if kubeconfig != "" {
				if err := server.WriteKubeconfig(kubeconfig); err != nil {
					return err
				}
			}
			fmt.Fprintf(s.stdout, "API server on http://%s\n", server.Addr())
			<-ctx.Done()
			return nil
		},
	}
	c.Flags().StringVar(&address, "address", "127.0.0.1:0", "where to listen; port 0 takes a free one")
	c.Flags().StringVar(&kubeconfig, "write-kubeconfig", "", "write a kubeconfig for this server to the file")
	return c
}
