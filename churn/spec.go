package churn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/internal/rate"
)

const (
	constant = "constant"
	poisson  = "poisson"
	burst    = "burst"
	ramp     = "ramp"
	steps    = "steps"
	onOff    = "on-off"

	uniform = "uniform"
	hot     = "hot"
	zipf    = "zipf"

	defaultDelay      = time.Second
	defaultReadyDelay = time.Second

	// maxRate is far above what one API server takes, and bounds the plan, as maxCount
	// does.
	maxRate  = 100_000
	maxCount = 1_000_000
)

// Spec is one entry of a profile's churn list. Fields left empty have the
// defaults that WithDefaults fills in; Kind has none, and of Rate and Count one is given.
type Spec struct {
	// Kind is what happens, one of the kinds of operation.
	Kind string `json:"kind" role:"load"`
	// Rate is how many writes the entry makes per second.
	Rate rate.Rate `json:"rate,omitzero" role:"load"`
	// Count is how many operations the entry makes, spread over its window, instead of a
	// rate.
	Count int `json:"count,omitempty" role:"load"`
	// Start is when the entry begins, from the start of steady load; For is how long it
	// lasts, by default until the end of steady load.
	Start metav1.Duration `json:"start,omitzero" role:"load"`
	For   metav1.Duration `json:"for,omitzero" role:"load"`
	// Schedule is how the writes lie in time: "constant" (the default), "poisson",
	// "burst" (N operations at once, Every so often), "ramp" (from Rate to RateTo),
	// "steps" (each of Rates for an equal part of the time), or "on-off" (Rate for the
	// time On, nothing for the time Off, in turn).
	Schedule string `json:"schedule,omitempty" role:"load"`
	// RateTo is the rate at the end of a ramp.
	RateTo rate.Rate `json:"rateTo,omitzero" role:"load"`
	// Rates are the rates of the steps.
	Rates []rate.Rate `json:"rates,omitempty" role:"load"`
	// N is how many operations a burst has, Every the time from one to the next.
	N     int             `json:"n,omitempty" role:"load"`
	Every metav1.Duration `json:"every,omitzero" role:"load"`
	// On and Off are the mean lengths of on-off; Jitter is the share, from 0 to 1, by
	// which each may be shorter or longer.
	On     metav1.Duration `json:"on,omitzero" role:"load"`
	Off    metav1.Duration `json:"off,omitzero" role:"load"`
	Jitter float64         `json:"jitter,omitempty" role:"load"`
	// Target is "uniform" (the default: each operation draws a service), "hot"
	// (all operations go to the first service) or "zipf" (the service of rank r is drawn
	// with a weight of 1/r).
	Target string `json:"target,omitempty" role:"load"`
	// Namespace, if given, is the only one whose services are changed.
	Namespace string `json:"namespace,omitempty" role:"load"`
	// Pods is how many pods one scale-up, scale-down or slice-repack adds, removes or
	// moves; 3 by default, for slice-repack 1.
	Pods int `json:"pods,omitempty" role:"load"`
	// Size is how many pods a service has after scale-to.
	Size int `json:"size,omitempty" role:"load"`
	// Hold is after what time a scale-to, node-loss, zone-loss, first-endpoint,
	// last-endpoint, or adding or removing a config object is undone; 0, the default, is
	// never, but Delay for node-loss, zone-loss and objects of which a namespace has one.
	Hold metav1.Duration `json:"hold,omitzero" role:"load"`
	// Delay is the time from terminating to removal, and from unready to ready;
	// 1s by default.
	Delay metav1.Duration `json:"delay,omitzero" role:"load"`
	// MaxSurge, MaxUnavailable and ReadyDelay make a rolling-update go on as a Deployment's
	// does: at most MaxSurge pods beyond the size, at most MaxUnavailable below it, and
	// pods ready the time ReadyDelay after they were added. Without any of them the writes
	// of a rollout come one by one, at the entry's rate. If one is given, or the schedule
	// has no rate that stays, the defaults are 1, 0 and 1s.
	MaxSurge       int             `json:"maxSurge,omitempty" role:"load"`
	MaxUnavailable int             `json:"maxUnavailable,omitempty" role:"load"`
	ReadyDelay     metav1.Duration `json:"readyDelay,omitzero" role:"load"`
}

// WithDefaults returns the spec with its empty fields filled in.
func (s Spec) WithDefaults() Spec {
	if s.Schedule == "" {
		s.Schedule = constant
	}
	if s.Target == "" {
		s.Target = uniform
	}
	if s.Pods == 0 {
		s.Pods = defaultPods
		if s.Kind == sliceRepack {
			s.Pods = 1
		}
	}
	if s.Delay.Duration == 0 {
		s.Delay.Duration = defaultDelay
	}
	if s.Hold.Duration == 0 && comesBack(s.Kind) {
		s.Hold = s.Delay
	}
	if s.Kind == RollingUpdate && !s.paced() {
		if s.MaxSurge+s.MaxUnavailable == 0 {
			s.MaxSurge = defaultSurge
		}
		if s.ReadyDelay.Duration == 0 {
			s.ReadyDelay.Duration = defaultReadyDelay
		}
	}
	return s
}

// comesBack reports whether an operation of a kind is undone in any case.
func comesBack(kind string) bool {
	object, what, ok := ofObject(kind)
	return kind == nodeLoss || kind == zoneLoss || ok && object.OfNamespace() && what != suffixUpdate
}

// paced reports whether the writes of a rollout come at the entry's rate.
func (s Spec) paced() bool {
	return s.Kind == RollingUpdate && s.MaxSurge == 0 && s.MaxUnavailable == 0 && s.ReadyDelay.Duration == 0 &&
		s.Count == 0 && (s.Schedule == constant || s.Schedule == poisson || s.Schedule == "")
}

// Off reports whether the entry makes no writes, since all of its rates are 0.
func (s Spec) off() bool {
	return s.Count == 0 && s.Rate == 0 && s.RateTo == 0 && s.Schedule != burst &&
		!slices.ContainsFunc(s.Rates, func(r rate.Rate) bool { return r > 0 })
}

// problems collects what is wrong with a spec.
type problems []error

func (p *problems) add(field string, value any, want string) {
	*p = append(*p, fmt.Errorf("%s: %v: %s", field, value, want))
}

func (p *problems) choice(field, value string, known ...string) {
	if !slices.Contains(known, value) {
		p.add(field, fmt.Sprintf("%q", value), "must be one of "+strings.Join(known, ", "))
	}
}

// only refuses a field that is given where it means nothing.
func (p *problems) only(field string, value any, given, allowed bool, where string) {
	if given && !allowed {
		p.add(field, value, "goes only with "+where)
	}
}

// Validate returns every problem of the spec, joined; each is one line that
// begins with the name of the field.
func (s Spec) Validate() error {
	given := s
	s = s.WithDefaults()
	var p problems
	p.choice("kind", s.Kind, Kinds()...)
	p.choice("schedule", s.Schedule, constant, poisson, burst, ramp, steps, onOff)
	p.choice("target", s.Target, uniform, hot, zipf)
	given.validateRates(&p)
	s.validateShape(&p)
	if s.Pods < 1 || s.Pods > maxPods {
		p.add("pods", s.Pods, fmt.Sprintf("must be from 1 to %d", maxPods))
	}
	for _, f := range []struct {
		name string
		d    metav1.Duration
	}{{"start", s.Start}, {"for", s.For}, {"hold", s.Hold}, {"delay", s.Delay}, {"readyDelay", s.ReadyDelay}} {
		if f.d.Duration < 0 {
			p.add(f.name, f.d.Duration, "must not be negative")
		}
	}
	p.only("size", s.Size, s.Size != 0, s.Kind == scaleTo, scaleTo)
	if s.Kind == scaleTo && s.Size < 1 {
		p.add("size", s.Size, "must be at least 1")
	}
	rolling := s.Kind == RollingUpdate
	p.only("maxSurge", s.MaxSurge, s.MaxSurge != 0, rolling, RollingUpdate)
	p.only("maxUnavailable", s.MaxUnavailable, s.MaxUnavailable != 0, rolling, RollingUpdate)
	p.only("readyDelay", s.ReadyDelay.Duration, s.ReadyDelay.Duration != 0, rolling, RollingUpdate)
	if s.MaxSurge < 0 || s.MaxUnavailable < 0 || s.MaxSurge+s.MaxUnavailable > maxPods {
		p.add("maxSurge", s.MaxSurge, fmt.Sprintf("it and maxUnavailable, %d, must be from 0 to %d together", s.MaxUnavailable, maxPods))
	}
	return errors.Join(p...)
}

// validateRates checks the rates, as they are given.
func (s Spec) validateRates(p *problems) {
	check := func(field string, r rate.Rate) {
		if r := float64(r); r < 0 || r > maxRate || math.IsNaN(r) {
			p.add(field, rate.Rate(r), fmt.Sprintf("must be from 0/s, which turns the entry off, to %d/s", maxRate))
		}
	}
	check("rate", s.Rate)
	check("rateTo", s.RateTo)
	for i, r := range s.Rates {
		check(fmt.Sprintf("rates[%d]", i), r)
	}
	if s.Count < 0 || s.Count > maxCount {
		p.add("count", s.Count, fmt.Sprintf("must be from 1 to %d", maxCount))
	}
	if s.Count != 0 && s.Rate != 0 {
		p.add("count", s.Count, "takes the place of a rate: give one of them")
	}
}

// validateShape checks the fields of the schedule.
func (s Spec) validateShape(p *problems) {
	is := func(schedules ...string) bool { return slices.Contains(schedules, s.Schedule) }
	p.only("count", s.Count, s.Count != 0, is(constant, poisson), "the schedules constant and poisson")
	p.only("rate", s.Rate, s.Rate != 0, !is(burst, steps), "other schedules: this one has n and every, or rates")
	p.only("rateTo", s.RateTo, s.RateTo != 0, is(ramp), "the schedule ramp")
	p.only("rates", s.Rates, len(s.Rates) > 0, is(steps), "the schedule steps")
	p.only("n", s.N, s.N != 0, is(burst), "the schedule burst")
	p.only("every", s.Every.Duration, s.Every.Duration != 0, is(burst), "the schedule burst")
	p.only("on", s.On.Duration, s.On.Duration != 0, is(onOff), "the schedule on-off")
	p.only("off", s.Off.Duration, s.Off.Duration != 0, is(onOff), "the schedule on-off")
	p.only("jitter", s.Jitter, s.Jitter != 0, is(onOff), "the schedule on-off")
	if is(burst) && (s.N < 1 || s.N > maxCount) {
		p.add("n", s.N, fmt.Sprintf("must be from 1 to %d", maxCount))
	}
	if is(burst) && s.Every.Duration < time.Millisecond {
		p.add("every", s.Every.Duration, "must be at least 1ms")
	}
	if is(steps) && len(s.Rates) == 0 {
		p.add("rates", s.Rates, "must have a rate for each step, such as [5/s, 10/s]")
	}
	if is(onOff) && (s.On.Duration < time.Millisecond || s.Off.Duration < time.Millisecond) {
		p.add("on", s.On.Duration, fmt.Sprintf("it and off, %s, must both be at least 1ms", s.Off.Duration))
	}
	if s.Jitter < 0 || s.Jitter > 1 || math.IsNaN(s.Jitter) {
		p.add("jitter", s.Jitter, "must be a share from 0 to 1")
	}
}
