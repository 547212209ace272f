package node

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// The kinds of proxy: the node types of Istio, which begin a proxy's node ID.
const (
	Sidecar  = "sidecar"
	Router   = "router"
	Waypoint = "waypoint"
	Ztunnel  = "ztunnel"
)

// Kinds lists the kinds in the order in which a fleet's first proxies take them.
func Kinds() []string { return []string{Sidecar, Router, Waypoint, Ztunnel} }

// Shares says how a fleet is made up: a weight per kind. Empty means
// sidecars alone. A ztunnel speaks Delta, whatever the fleet's variant: its
// types are served in no other.
type Shares map[string]float64

// Of returns the kinds of n proxies. Each kind has its share of any number of
// first proxies, to within one.
func (k Shares) Of(n int) []string {
	total := 0.0
	for _, weight := range k {
		total += weight
	}
	if total == 0 {
		return slices.Repeat([]string{Sidecar}, n)
	}
	list := make([]string, n)
	given := make(map[string]float64, len(k))
	for i := range list {
		furthest := math.Inf(-1)
		for _, kind := range Kinds() {
			if behind := k[kind]/total*float64(i+1) - given[kind]; k[kind] > 0 && behind > furthest {
				list[i], furthest = kind, behind
			}
		}
		given[list[i]]++
	}
	return list
}

// Validate lists everything that is wrong with the profile's proxies.kinds.
func (k Shares) Validate() error {
	var errs []error
	total := 0.0
	for _, name := range slices.Sorted(maps.Keys(k)) {
		weight := k[name]
		if !slices.Contains(Kinds(), name) {
			errs = append(errs, fmt.Errorf("proxies.kinds: %q: must be one of %s", name, strings.Join(Kinds(), ", ")))
		}
		if !(weight >= 0) || math.IsInf(weight, 0) {
			errs = append(errs, fmt.Errorf("proxies.kinds.%s: %v: must be a share of 0 or more", name, weight))
		}
		total += weight
	}
	if len(k) > 0 && len(errs) == 0 && total == 0 {
		errs = append(errs, fmt.Errorf("proxies.kinds: %v: at least one share must be above 0", map[string]float64(k)))
	}
	return errors.Join(errs...)
}
