package profiles

import (
	"errors"
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/hotspot"
	"github.com/xdsbench/xdsbench/internal/rate"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/target"
)

// Profile is one resolved load profile. The field names of its JSON form are
// those of the YAML files and of --set.
type Profile struct {
	Name        string `json:"name" role:"setting"`
	Description string `json:"description,omitempty" role:"setting"`
	// Seed decides everything that is drawn by chance: the mesh, the schedule
	// of mutations, and each proxy's behaviour.
	Seed uint64 `json:"seed" role:"load"`
	// Scale multiplies the size of the profile: proxies.count and connectRate, the
	// services of the mesh or of each size class, and those that have a VirtualService or
	// a DestinationRule. No number of them falls below 1. The rates of change and the sizes of
	// services stay: they are what a profile asks about. A resolved profile has the sizes
	// that this gave, and no scale.
	Scale   *float64       `json:"scale,omitempty" role:"load"`
	Mesh    mesh.Spec      `json:"mesh"`
	Proxies fakeproxy.Spec `json:"proxies"`
	Churn   []churn.Spec   `json:"churn,omitempty"`
	Phases  Phases         `json:"phases"`
	// SLO maps a metric of the result, such as "propagation.all.p99", to the
	// highest value that passes, such as "2s" or "0".
	SLO map[string]string `json:"slo,omitempty" role:"setting"`
	// Answer is what the report says first, in this order: the metrics that the profile
	// is run for.
	Answer []Answer    `json:"answer,omitempty"`
	Target target.Spec `json:"target"`
	// Pprof is what to take of the control plane's profiles.
	Pprof hotspot.Spec `json:"pprof"`
}

// Answer is one line of what a profile answers.
type Answer struct {
	// Says is what the metric is, in the words of who asks.
	Says string `json:"says" role:"setting"`
	// Metric is a metric of the result. A "*" stands for any key, such as a type of xDS
	// resource: each has a line.
	Metric string `json:"metric" role:"setting"`
}

// Phases are the lengths of a run's parts.
type Phases struct {
	// ReadyTimeout bounds the time in which all proxies must have connected and
	// become ready. Zero means one minute plus three times the time that
	// connecting at proxies.connectRate takes.
	ReadyTimeout metav1.Duration `json:"readyTimeout" role:"load"`
	// Warmup is how long the mesh rests after the proxies are ready.
	Warmup metav1.Duration `json:"warmup" role:"load"`
	// Idle is how long after that the control plane is watched with nothing changing,
	// to tell what changes cost from what it uses anyway; 0 leaves that out.
	Idle metav1.Duration `json:"idle" role:"load"`
	// Steady is how long mutations are issued.
	Steady metav1.Duration `json:"steady" role:"load"`
	// Drain is how long deliveries are waited for after the last mutation. The
	// drain ends as soon as nothing is pending.
	Drain metav1.Duration `json:"drain" role:"load"`
}

// Default returns the profile that files are laid over.
func Default() Profile {
	t := target.DefaultSpec()
	t.ClusterName = mesh.DefaultClusterName
	return Profile{
		Name:    "custom",
		Seed:    1,
		Mesh:    mesh.DefaultSpec(),
		Proxies: fakeproxy.DefaultSpec(),
		Phases: Phases{
			Warmup: metav1.Duration{Duration: 2 * time.Second},
			Idle:   metav1.Duration{Duration: 2 * time.Second},
			Steady: metav1.Duration{Duration: 20 * time.Second},
			Drain:  metav1.Duration{Duration: 30 * time.Second},
		},
		Target: t,
	}
}

// Validate reports every impossible value of the profile, one line each, that begins
// with the field's path. It looks at the profile alone: what this machine can run is
// for the harness to check.
func (p *Profile) Validate() error {
	m := mesh.Config{Spec: p.Mesh, Proxies: p.Proxies.Count, ClusterName: p.Target.ClusterName}
	errs := []error{p.validateScale(), m.Validate(), p.Proxies.Validate(), p.Phases.validate(), p.Target.Validate(), p.Pprof.Validate()}
	return errors.Join(append(errs, p.validateChurn(), p.validateOutage())...)
}

func (p *Profile) validateScale() error {
	if s := p.Scale; s != nil && !(*s > 0 && *s <= maxScale) {
		return fmt.Errorf("scale: %v: must be above 0, and at most %d", *s, maxScale)
	}
	return nil
}

// maxScale is far above what any machine holds.
const maxScale = 1_000_000

// resolveScale multiplies what Scale is for.
func (p *Profile) resolveScale() {
	if p.Scale == nil || p.validateScale() != nil {
		return
	}
	by := *p.Scale
	scale := func(n *int) {
		if *n > 0 {
			*n = max(int(math.Round(min(float64(*n)*by, math.MaxInt32))), 1)
		}
	}
	scale(&p.Proxies.Count)
	p.Proxies.ConnectRate = rate.Rate(float64(p.Proxies.ConnectRate) * by)
	if len(p.Mesh.Classes) == 0 {
		scale(&p.Mesh.Services)
	}
	scale(&p.Mesh.VirtualServices)
	scale(&p.Mesh.DestinationRules)
	for i := range p.Mesh.Classes {
		scale(&p.Mesh.Classes[i].Services)
	}
	p.Scale = nil
}

// validateOutage makes sure that an outage lies within the steady phase, so that
// the run sees all of it.
func (p *Profile) validateOutage() error {
	o := p.Target.Outage
	if o == nil {
		return nil
	}
	if end := o.At.Duration + o.For.Duration; end > p.Phases.Steady.Duration {
		return fmt.Errorf("target.outage: ends %s after steady load begins: must end within phases.steady, %s", end, p.Phases.Steady.Duration)
	}
	return nil
}

// ReadyTimeout returns the time in which all proxies must become ready.
func (p *Profile) ReadyTimeout() time.Duration {
	if d := p.Phases.ReadyTimeout.Duration; d > 0 {
		return d
	}
	ramp := time.Duration(float64(p.Proxies.Count) / float64(p.Proxies.ConnectRate) * float64(time.Second))
	return time.Minute + 3*ramp
}

func (ph Phases) validate() error {
	var errs []error
	for _, f := range []struct {
		name string
		d    time.Duration
	}{
		{"readyTimeout", ph.ReadyTimeout.Duration},
		{"warmup", ph.Warmup.Duration},
		{"idle", ph.Idle.Duration},
		{"steady", ph.Steady.Duration},
		{"drain", ph.Drain.Duration},
	} {
		if f.d < 0 {
			errs = append(errs, fmt.Errorf("phases.%s: %s: must not be negative", f.name, f.d))
		}
	}
	return errors.Join(errs...)
}

// SetRate scales the rates of all kinds of churn so that they add up to total,
// in proportion to what they were.
func (p *Profile) SetRate(total rate.Rate) error {
	var sum rate.Rate
	for i := range p.Churn {
		sum += p.Churn[i].Rate
	}
	if sum <= 0 {
		return errors.New("rate: the profile has no churn to scale: add one, such as --set churn[0].kind=pod-add --set churn[0].rate=1/s")
	}
	for i := range p.Churn {
		p.Churn[i].Rate *= total / sum
	}
	return p.Validate()
}
