package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/controlplane"
)

const controlplaneLong = `The embedded reference control plane, alone: it watches the Services and
EndpointSlices of an API server and serves them over ADS, shaped and named as
istiod does. Its settings are istiod's environment variables, such as
PILOT_DEBOUNCE_AFTER, PILOT_DEBOUNCE_MAX, PILOT_ENABLE_EDS_DEBOUNCE and
PILOT_PUSH_THROTTLE. The HTTP address serves /ready, /metrics, /version,
/debug/syncz, /debug/faults and /debug/pprof.

  xdsbench fakekube --write-kubeconfig kc &
  xdsbench controlplane --kubeconfig kc --xds-address 127.0.0.1:15010

It has neither TLS nor authentication, and listens on loopback only unless
--allow-remote is given.

Known faults, to check a measurement against (xdsbench calibrate does): set in
the environment, recorded at /debug/faults.
  XDSBENCH_FAULT_DELAY          hold back each push to each proxy: a sum of terms
                                such as 10ms+uniform(1ms,5ms)+exponential(10ms),
                                drawn each time, and spread(100ms), fixed per proxy
  XDSBENCH_FAULT_UNSERVED       share of proxies that get no pushes, such as 0.03
  XDSBENCH_FAULT_STALE          share of (proxy, cluster) pairs that are never
                                updated
  XDSBENCH_FAULT_LOST           N: lose every Nth endpoint update of a cluster
  XDSBENCH_FAULT_DUPLICATE      share of pushed responses that are sent twice
  XDSBENCH_FAULT_CPU            CPU time that each push to each proxy costs more
  XDSBENCH_FAULT_ORDER          share of proxies that first get some endpoints
                                before their clusters
  XDSBENCH_FAULT_LATE_CLUSTERS  send half of the clusters only after this time
  XDSBENCH_FAULT_UNANSWERED     types (cds), variants (delta) or both (sotw/cds),
                                separated by commas, that are never answered
  XDSBENCH_FAULT_SILENT_AFTER   send nothing any more after this time of serving
  XDSBENCH_FAULT_SILENT_HTTP    true: from then on pages do not answer either
  XDSBENCH_FAULT_SEED           who is chosen and what is drawn (default 1)
  XDSBENCH_FAULT_FILE           write the record there at the end`

func controlplaneCommand(s streams) *cobra.Command {
	cfg := controlplane.Config{Env: environ(s.environ), Version: buildVersion()}
	var allowRemote bool
	c := &cobra.Command{
		Use:   "controlplane --kubeconfig FILE",
		Short: "The embedded control plane alone",
		Long:  controlplaneLong,
		Args:  argsExactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			if !allowRemote {
				if err := errors.Join(
					checkLoopback("--xds-address", cfg.XDSAddress),
					checkLoopback("--http-address", cfg.HTTPAddress),
				); err != nil {
					return usageError(err)
				}
			}
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
	flags.BoolVar(&allowRemote, "allow-remote", false, "listen on addresses that other machines can reach, without TLS")
	return c
}

// checkLoopback refuses an address that other machines can reach.
func checkLoopback(flag, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s: want HOST:PORT: %w", flag, err)
	}
	ip, _ := netip.ParseAddr(host) // the zero value is not on loopback
	if host == "localhost" || ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s %s: other machines can reach this address, and there is neither TLS nor authentication; "+
		"use 127.0.0.1:%s, or pass --allow-remote if that is wanted", flag, address, port)
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
