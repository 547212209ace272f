package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The ways to spread connection attempts over replicas.
const (
	// balanceRoundRobin takes the replicas in turn, each round in an order drawn anew.
	balanceRoundRobin = "round-robin"
	// BalanceRandom draws one, as kube-proxy's iptables and nftables rules do.
	BalanceRandom = "random"
)

// maxReplicas bounds Spec.Replicas: they all run on this machine.
const maxReplicas = 64

// OutageSpec is a time without some or all replicas of the target.
type OutageSpec struct {
	// At is when they are killed, from the start of steady load.
	At metav1.Duration `json:"at" role:"load"`
	// For is how long they then stay down.
	For metav1.Duration `json:"for" role:"load"`
	// Replicas is how many go down, the last ones; or Replica lists them by number,
	// from 0. If neither is given, all go down.
	Replicas int   `json:"replicas,omitempty" role:"load"`
	Replica  []int `json:"replica,omitempty" role:"load"`
}

// Victims returns which of n replicas go down, in order.
func (o *OutageSpec) Victims(n int) []int {
	if len(o.Replica) > 0 {
		return slices.Sorted(slices.Values(o.Replica))
	}
	first := 0
	if o.Replicas > 0 {
		first = n - o.Replicas
	}
	var victims []int
	for i := first; i < n; i++ {
		victims = append(victims, i)
	}
	return victims
}

func (s Spec) validateReplicas() error {
	var errs []error
	switch {
	case s.Kind == KindExternal && s.Replicas != 1:
		errs = append(errs, fmt.Errorf("target.replicas: %d: an external target has a replica per address of target.xdsAddress: remove it", s.Replicas))
	case s.Replicas < 1 || s.Replicas > maxReplicas:
		errs = append(errs, fmt.Errorf("target.replicas: %d: must be from 1 to %d", s.Replicas, maxReplicas))
	case s.Replicas > 1 && s.Kind == KindExec:
		errs = append(errs, s.validateExecReplicas())
	}
	if s.Balance != balanceRoundRobin && s.Balance != BalanceRandom {
		errs = append(errs, fmt.Errorf("target.balance: %q: must be round-robin or random", s.Balance))
	}
	return errors.Join(errs...)
}

// validateExecReplicas makes sure that each replica of a command has addresses of
// its own.
func (s Spec) validateExecReplicas() error {
	var errs []error
	if s.XDSAddress != "" {
		errs = append(errs, fmt.Errorf("target.xdsAddress: %q: each of several replicas needs an address of its own: pass {xds} to the command, and leave this out", s.XDSAddress))
	}
	for _, f := range []struct{ name, value string }{{"metricsURL", s.MetricsURL}, {"pprofURL", s.PprofURL}} {
		if f.value != "" && !strings.Contains(f.value, "{") {
			errs = append(errs, fmt.Errorf("target.%s: %q: each of several replicas needs a URL of its own: write {metrics} or {pprof} for HOST:PORT", f.name, f.value))
		}
	}
	return errors.Join(errs...)
}

func (s Spec) validateOutage() error {
	o := s.Outage
	if o == nil {
		return nil
	}
	var errs []error
	if s.Kind == KindExternal {
		errs = append(errs, errors.New("target.outage: an external target cannot be taken down from here: remove it"))
	}
	if d := o.At.Duration; d < 0 {
		errs = append(errs, fmt.Errorf("target.outage.at: %s: must not be negative", d))
	}
	if d := o.For.Duration; d <= 0 {
		errs = append(errs, fmt.Errorf("target.outage.for: %s: must be above 0s", d))
	}
	if o.Replicas < 0 || o.Replicas > s.Replicas {
		errs = append(errs, fmt.Errorf("target.outage.replicas: %d: must be from 1 to target.replicas, %d", o.Replicas, s.Replicas))
	}
	if o.Replicas != 0 && len(o.Replica) > 0 {
		errs = append(errs, errors.New("target.outage.replica: says which, and target.outage.replicas how many: give one of them"))
	}
	for i, replica := range o.Replica {
		if replica < 0 || replica >= s.Replicas || slices.Contains(o.Replica[:i], replica) {
			errs = append(errs, fmt.Errorf("target.outage.replica[%d]: %d: must be from 0 to %d (target.replicas less one), each once", i, replica, s.Replicas-1))
		}
	}
	return errors.Join(errs...)
}
