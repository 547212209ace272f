package anatomy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/profiles"
)

const (
	// every is the time from one change to the next of the same kind: a debounce of
	// 100 ms and a full push are over by then.
	every = time.Second
	// step is the time between the steps of one change, such as terminating and removal.
	step = 400 * time.Millisecond
	// rest is what a window has after the last change's time.
	rest = time.Second
)

// Skipped is a kind of change that was not made.
type Skipped struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

// plan is the run's profile, and what is left out of it.
type plan struct {
	profile *profiles.Profile
	kinds   []string
	window  time.Duration
	skipped []Skipped
}

// planFor lays out the windows of the kinds that the profile's control plane and mesh
// can be asked for; kinds that are named have to be among those known.
func planFor(base *profiles.Profile, kinds []string, repeat int) (*plan, error) {
	if repeat < 1 {
		return nil, fmt.Errorf("repeat: %d: each kind of change must be made at least once", repeat)
	}
	known := churn.Kinds()
	var errs []error
	for _, kind := range kinds {
		if !slices.Contains(known, kind) {
			errs = append(errs, fmt.Errorf("kinds: %q: must be among %s", kind, strings.Join(known, ", ")))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if len(kinds) == 0 {
		kinds = slices.Clone(known)
		slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(turn(a), turn(b)) })
	}
	p := &plan{window: time.Duration(repeat)*every + rest}
	profile := *base
	profile.Phases.Idle = metav1.Duration{Duration: p.window}
	var entries []churn.Spec
	for _, kind := range kinds {
		entry := churn.Spec{
			Kind: kind, Count: repeat, For: metav1.Duration{Duration: time.Duration(repeat) * every},
			Delay: metav1.Duration{Duration: step}, Pods: 1,
		}
		adapt(&entry, base)
		if err := alone(profile, entry); err != nil {
			reason := strings.TrimPrefix(err.Error(), fmt.Sprintf("churn[0].kind: %q: ", kind))
			p.skipped = append(p.skipped, Skipped{kind, reason})
			continue
		}
		entry.Start.Duration = time.Duration(len(entries)) * p.window
		entries, p.kinds = append(entries, entry), append(p.kinds, kind)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("kinds: none can be made: %s: %s", p.skipped[0].Kind, p.skipped[0].Reason)
	}
	profile.Churn = entries
	profile.Phases.Steady.Duration = time.Duration(len(entries)) * p.window
	p.profile = &profile
	return p, harness.Validate(p.profile)
}

// turn orders all kinds: those first that need a service which nothing has changed, and
// those last that take pods of most services.
func turn(kind string) int {
	switch kind {
	case "first-endpoint", "last-endpoint", "port-remove", "service-remove", "namespace-remove":
		return 0
	case "node-loss":
		return 2
	case "zone-loss":
		return 3
	case "node-drain":
		return 4
	}
	return 1
}

// adapt gives an entry what its kind needs beside the defaults.
func adapt(entry *churn.Spec, base *profiles.Profile) {
	switch entry.Kind {
	case "scale-to":
		entry.Size = base.Mesh.EndpointsPerService + 2
		entry.Hold = entry.Delay
	case "first-endpoint", "last-endpoint", "node-loss", "zone-loss":
		entry.Hold = entry.Delay
	case churn.RollingUpdate:
		entry.MaxSurge, entry.ReadyDelay = 1, metav1.Duration{Duration: 100 * time.Millisecond}
	}
	if !slices.Contains([]string{churn.ScaleUp, churn.ScaleDown, "slice-repack"}, entry.Kind) {
		entry.Pods = 0
	}
}

// alone says why a kind cannot be asked for, by itself.
func alone(profile profiles.Profile, entry churn.Spec) error {
	profile.Churn = []churn.Spec{entry}
	return harness.Validate(&profile)
}

// current is the kind whose window it is after some time of steady load.
func (p *plan) current(elapsed time.Duration) string {
	return p.kinds[min(max(int(elapsed/p.window), 0), len(p.kinds)-1)]
}
