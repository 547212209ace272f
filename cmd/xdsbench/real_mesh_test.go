//go:build realstack

package main

import (
	"testing"

	"github.com/xdsbench/xdsbench/internal/testutil/realstack"
)

// TestRealIstiodHoldsEveryPortSubsetAndOddityAsTheMeshSays runs a mesh of all that can
// be in it, with dual stack on and off, on both API servers.
func TestRealIstiodHoldsEveryPortSubsetAndOddityAsTheMeshSays(t *testing.T) {
	mesh := profile(t, `
mesh:
  namespaces: 2
  portProtocols: [http, tcp, grpc, udp]
  classes:
  - {services: 1, endpoints: 150, ports: 32}
  - {services: 10, endpoints: 4, ports: 4}
  - {services: 2, endpoints: 3, headless: true}
  oddities: 0.5
  virtualServices: 6
  destinationRules: 6
  subsets: true
proxies: {count: 20, variant: mixed}
churn:
- {kind: pod-delete, rate: 2/s}
- {kind: readiness-flap, rate: 1/s}
- {kind: endpoint-port, rate: 1/s}
- {kind: scale-up, rate: 1/s}
phases: {steady: 8s}
`)
	for name, args := range map[string][]string{
		"single stack":   nil,
		"dual stack":     {"--set", "target.env.ISTIO_DUAL_STACK=true"},
		"kube-apiserver": {"--kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "kube-apiserver" {
				args = append(args, realstack.Start(t).Kubeconfig)
			}
			r := realRun(t, append([]string{"-f", mesh}, args...)...)
			if p, v := r.Propagation, r.Convergence; p.Deliveries == 0 || p.Undelivered+p.UnknownStates+int64(v.Diverged) != 0 || v.MissingClusters != 0 {
				t.Errorf("delivered %d, undelivered %d, unknown states %d, diverged %d, missing clusters %d",
					p.Deliveries, p.Undelivered, p.UnknownStates, v.Diverged, v.MissingClusters)
			}
			if a := r.Acks; a != nil && a.NacksInvalid != 0 {
				t.Errorf("%d NACKs", a.NacksInvalid)
			}
		})
	}
}
