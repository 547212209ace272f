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

// Kinds of operation.
const (
	PodDelete     = "pod-delete"
	PodAdd        = "pod-add"
	RollingUpdate = "rolling-update"
	ReadinessFlap = "readiness-flap"
	ScaleUp       = "scale-up"
	ScaleDown     = "scale-down"
)

const (
	constant = "constant"
	poisson  = "poisson"

	uniform = "uniform"
	hot     = "hot"

	defaultPods  = 3
	defaultDelay = time.Second

	// maxPods is what one slice holds, as an operation on several pods is one
	// write to one slice.
	maxPods = 100
	// maxRate is far above what one API server takes, and bounds the plan.
	maxRate = 100_000
)

// Spec is one entry of a profile's churn list. Fields left empty have the
// defaults that WithDefaults fills in; Kind and Rate have none.
type Spec struct {
	// Kind is what happens, one of the kinds of operation.
	Kind string `json:"kind" role:"load"`
	// Rate is how many EndpointSlice writes the entry makes per second.
	Rate rate.Rate `json:"rate" role:"load"`
	// Schedule is "constant" (the default) or "poisson".
	Schedule string `json:"schedule,omitempty" role:"load"`
	// Target is "uniform" (the default: each operation draws a service) or "hot"
	// (all operations go to the first service).
	Target string `json:"target,omitempty" role:"load"`
	// Pods is how many pods one scale-up or scale-down adds or removes; 3 by default.
	Pods int `json:"pods,omitempty" role:"load"`
	// Delay is the time from terminating to removal, and from unready to ready;
	// 1s by default.
	Delay metav1.Duration `json:"delay,omitzero" role:"load"`
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
	}
	if s.Delay.Duration == 0 {
		s.Delay.Duration = defaultDelay
	}
	return s
}

// Validate returns every problem of the spec, joined; each is one line that
// begins with the name of the field.
func (s Spec) Validate() error {
	s = s.WithDefaults()
	var problems []error
	problem := func(field string, value any, want string) {
		problems = append(problems, fmt.Errorf("%s: %v: %s", field, value, want))
	}
	choice := func(field, value string, known ...string) {
		if !slices.Contains(known, value) {
			problem(field, fmt.Sprintf("%q", value), "must be one of "+strings.Join(known, ", "))
		}
	}
	choice("kind", s.Kind, PodDelete, PodAdd, RollingUpdate, ReadinessFlap, ScaleUp, ScaleDown)
	choice("schedule", s.Schedule, constant, poisson)
	choice("target", s.Target, uniform, hot)
	if r := float64(s.Rate); r < 0 || r > maxRate || math.IsNaN(r) {
		problem("rate", s.Rate, fmt.Sprintf("must be from 0/s, which turns the entry off, to %d/s", maxRate))
	}
	if s.Pods < 1 || s.Pods > maxPods {
		problem("pods", s.Pods, fmt.Sprintf("must be from 1 to %d", maxPods))
	}
	if s.Delay.Duration < 0 {
		problem("delay", s.Delay.Duration, "must not be negative")
	}
	return errors.Join(problems...)
}

// writes returns how many EndpointSlice writes one operation makes; for a
// rollout, how many per pod.
func (s Spec) writes() int {
	switch s.Kind {
	case PodAdd, ScaleUp:
		return 1
	case RollingUpdate:
		return writesPerPod
	default:
		return 2
	}
}
