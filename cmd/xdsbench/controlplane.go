package main

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/controlplane"
)

const controlplaneLong = `The embedded reference control plane, alone: it watches the Services and
EndpointSlices of an API server and serves them over ADS, shaped and named as
istiod does. Its knobs are istiod's environment variables, such as
PILOT_DEBOUNCE_AFTER, PILOT_DEBOUNCE_MAX, PILOT_ENABLE_EDS_DEBOUNCE and
PILOT_PUSH_THROTTLE. The HTTP address serves /ready, /metrics, /version,
/debug/syncz and /debug/pprof.

  xdsbench fakekube --write-kubeconfig kc &
  xdsbench controlplane --kubeconfig kc --xds-address 127.0.0.1:15010`

func controlplaneCommand(s streams) *cobra.Command {
	cfg := controlplane.Config{Env: environ(s.environ), Version: buildVersion()}
	c := &cobra.Command{
		Use:   "controlplane --kubeconfig FILE",
		Short: "The embedded control plane alone",
		Long:  controlplaneLong,
		Args:  argsExactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg.Log = slog.New(slog.NewTextHandler(s.stderr, nil))
			cfg.OnReady = func(a controlplane.Addresses) {
				fmt.Fprintf(s.stdout, "ADS on %s, HTTP on http://%s\n", a.XDS, a.HTTP)
			}
			return controlplane.Run(c.Context(), cfg)
		},
	}
	flags := c.Flags()
	flags.StringVar(&cfg.Kubeconfig, "kubeconfig", "", "the API server to watch (required)")
	flags.StringVar(&cfg.XDSAddress, "xds-address", "127.0.0.1:15010", "where to serve ADS")
	flags.StringVar(&cfg.HTTPAddress, "http-address", "127.0.0.1:15014", "where to serve metrics and debug pages")
	return c
}

// environ makes a map of NAME=VALUE lines.
func environ(lines []string) map[string]string {
	env := make(map[string]string, len(lines))
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	return env
}
