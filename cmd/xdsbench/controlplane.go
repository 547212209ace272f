package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsbench/xdsbench/controlplane"
	"github.com/xdsbench/xdsbench/internal/listen"
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
--allow-remote is given. On loopback, its pages are not for foreign Host headers.

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
			if err := checkControlplane(&cfg, allowRemote); err != nil {
				return usageError(err)
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

// checkControlplane refuses addresses that would leave the control plane open to the
// network. Where only this machine reaches its pages, foreign web pages are kept out.
func checkControlplane(cfg *controlplane.Config, allowRemote bool) error {
	const remedy = "pass --allow-remote, which adds neither TLS nor authentication"
	check := func(flag, address string) (netip.AddrPort, error) {
		at, err := listen.Resolve(address)
		if err == nil && !allowRemote {
			at, err = listen.Loopback(address, remedy)
		}
		if err != nil {
			return at, fmt.Errorf("%s: %w", flag, err)
		}
		return at, nil
	}
	_, xdsErr := check("--xds-address", cfg.XDSAddress)
	at, httpErr := check("--http-address", cfg.HTTPAddress)
	if at.Addr().IsLoopback() {
		cfg.WrapHTTP = listen.GuardHost
	}
	return errors.Join(xdsErr, httpErr)
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
