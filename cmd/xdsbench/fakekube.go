package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/fakekube"
	"github.com/xdsbench/xdsbench/internal/listen"
)

const fakekubeLong = `Runs the in-memory Kubernetes API server on its own. kubectl, client-go and istiod
work against it. It stores objects and runs no controllers, and keeps nothing when
it exits.

  xdsbench fakekube --write-kubeconfig kc &
  kubectl --kubeconfig kc get namespaces
  xdsbench run --target external --xds-address 127.0.0.1:15010 --kubeconfig kc

Only this machine can reach it, without TLS or credentials. With --allow-remote it
can listen where other machines reach it: it then serves TLS and demands a bearer
token, both made at start, and the kubeconfig holds what a client needs.

  xdsbench fakekube --address 0.0.0.0:6443 --allow-remote --write-kubeconfig kc`

func fakekubeCommand(s streams) *cobra.Command {
	var address, kubeconfig string
	var opts fakekube.ServerOptions
	c := &cobra.Command{
		Use:   "fakekube --write-kubeconfig FILE",
		Short: "Run the in-memory API server on its own",
		Long:  fakekubeLong,
		Args:  argsExactly(0),
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if err := checkFakekube(address, kubeconfig, opts); err != nil {
				return usageError(err)
			}
			ctx := c.Context()
			opts.Log = slog.New(slog.NewTextHandler(s.stderr, nil))
			server := fakekube.NewServer(fakekube.NewStore(fakekube.Options{}), opts)
			if err := server.Start(ctx, address); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, server.Close()) }()
			if kubeconfig != "" {
				if err := server.WriteKubeconfig(kubeconfig); err != nil {
					return err
				}
			}
			fmt.Fprintf(s.stdout, "API server on %s\n", server.URL())
			<-ctx.Done()
			return nil
		},
	}
	c.Flags().StringVar(&address, "address", "127.0.0.1:0", "where to listen; port 0 takes a free one")
	c.Flags().BoolVar(&opts.AllowRemote, "allow-remote", false, "let --address be one that other machines can reach; adds TLS and a token")
	c.Flags().StringVar(&opts.AdvertiseHost, "advertise-address", "", "IP address or name, without port, that the kubeconfig sends clients to (default: chosen from this machine's)")
	c.Flags().StringVar(&kubeconfig, "write-kubeconfig", "", "write a kubeconfig for this server to the file, with mode 0600")
	return c
}

// checkFakekube refuses flags that would leave the server open to the network,
// or unusable.
func checkFakekube(address, kubeconfig string, opts fakekube.ServerOptions) error {
	at, err := listen.Resolve(address)
	if err == nil && !opts.AllowRemote {
		at, err = listen.Loopback(address, "give --allow-remote, which adds TLS and a token")
	}
	switch {
	case err != nil:
		return fmt.Errorf("--address: %w", err)
	case at.Addr().IsLoopback() && opts.AdvertiseHost != "":
		return fmt.Errorf("--advertise-address %s: no other machine reaches --address %s; give an address that one can, and --allow-remote", opts.AdvertiseHost, address)
	case !at.Addr().IsLoopback() && kubeconfig == "":
		return fmt.Errorf("--address %s: clients need the token and the CA certificate, which only the kubeconfig holds; give --write-kubeconfig FILE", address)
	}
	return nil
}
