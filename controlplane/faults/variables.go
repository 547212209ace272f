package faults

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/xdsbench/xdsbench/controlplane/internal/env"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

const prefix = "XDSBENCH_FAULT_"

// The variables that inject faults; see the package's documentation.
const (
	EnvDelay        = prefix + "DELAY"
	EnvUnserved     = prefix + "UNSERVED"
	EnvStale        = prefix + "STALE"
	EnvLost         = prefix + "LOST"
	EnvDuplicate    = prefix + "DUPLICATE"
	EnvCPU          = prefix + "CPU"
	EnvOrder        = prefix + "ORDER"
	EnvLateClusters = prefix + "LATE_CLUSTERS"
	EnvUnanswered   = prefix + "UNANSWERED"
	EnvSilentAfter  = prefix + "SILENT_AFTER"
	EnvSilentHTTP   = prefix + "SILENT_HTTP"
	EnvTypes        = prefix + "TYPES"
	EnvSeed         = prefix + "SEED"
	EnvFile         = prefix + "FILE"
)

// settings are what the variables ask for.
type settings struct {
	values       map[string]string // as given
	delay        delay
	unserved     float64 // share of proxies
	stale        float64 // share of (proxy, cluster)
	lost         int     // every Nth endpoint update; 0 for none
	duplicate    float64 // share of the responses of pushes
	cpu          time.Duration
	order        float64           // share of proxies
	lateClusters time.Duration     // 0 for no fault
	types        map[xds.Type]bool // nil for those of each fault
	unanswered   map[string]bool   // by streamType
	silentAfter  time.Duration     // negative for no fault
	silentHTTP   bool
	seed         uint64
	file         string // where the record goes at the end; empty for nowhere
}

// parse reads the fault variables of environ. The error joins all bad values,
// each with the name of its variable. An unknown name is an error: a fault that
// is not injected proves nothing.
func parse(environ map[string]string) (settings, error) {
	s := settings{values: make(map[string]string), seed: 1, silentAfter: -1}
	vars := env.Setters{
		EnvDelay:        s.delay.set,
		EnvUnserved:     share(&s.unserved),
		EnvStale:        share(&s.stale),
		EnvLost:         env.Var(&s.lost, strconv.Atoi, env.AtLeast(0), "a whole number, 0 for no fault"),
		EnvDuplicate:    share(&s.duplicate),
		EnvCPU:          duration(&s.cpu),
		EnvOrder:        share(&s.order),
		EnvLateClusters: duration(&s.lateClusters),
		EnvUnanswered:   s.setUnanswered,
		EnvSilentAfter:  duration(&s.silentAfter),
		EnvSilentHTTP:   env.Var(&s.silentHTTP, strconv.ParseBool, env.Any, "true or false"),
		EnvTypes:        s.setTypes,
		EnvSeed:         env.Var(&s.seed, parseUint, env.Any, "a whole number, not negative"),
		EnvFile:         func(value string) error { s.file = value; return nil },
	}
	err := vars.Read(environ, prefix, func(name, value string) error {
		return fmt.Errorf("%s=%q: there is no such fault; known are %s",
			name, value, strings.Join(slices.Sorted(maps.Keys(vars)), ", "))
	})
	for name, value := range environ {
		if strings.HasPrefix(name, prefix) {
			s.values[name] = value
		}
	}
	if s.silentHTTP && environ[EnvSilentAfter] == "" {
		err = errors.Join(err, fmt.Errorf("%s has no effect without %s", EnvSilentHTTP, EnvSilentAfter))
	}
	return s, err
}

func duration(target *time.Duration) func(string) error {
	return env.Var(target, time.ParseDuration, env.AtLeast[time.Duration](0), "a duration such as 2ms, not negative")
}

func share(target *float64) func(string) error {
	return env.Var(target, parseFloat, env.Between(0.0, 1), "a share from 0 to 1, such as 0.03")
}

func parseUint(text string) (uint64, error)   { return strconv.ParseUint(text, 10, 64) }
func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

// streamType names a type on streams of a variant, such as "sotw/cds".
func streamType(delta bool, t xds.Type) string {
	if delta {
		return "delta/" + t.String()
	}
	return "sotw/" + t.String()
}

// setUnanswered parses a list of types, variants or both.
func (s *settings) setUnanswered(value string) error {
	s.unanswered = make(map[string]bool)
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		known := false
		for t := range xds.TypeCount {
			for _, delta := range []bool{false, true} {
				name := streamType(delta, t)
				if variant, _, _ := strings.Cut(name, "/"); item == name || item == variant || item == t.String() {
					s.unanswered[name], known = true, true
				}
			}
		}
		if !known {
			return fmt.Errorf("%q must be a type (cds, eds, lds, rds), a variant (sotw, delta) or both, such as sotw/cds", item)
		}
	}
	return nil
}

// setTypes parses a list of types.
func (s *settings) setTypes(value string) error {
	s.types = make(map[xds.Type]bool)
	for item := range strings.SplitSeq(value, ",") {
		known := false
		for t := range xds.TypeCount {
			if strings.TrimSpace(item) == t.String() {
				s.types[t], known = true, true
			}
		}
		if !known {
			return fmt.Errorf("%q must be a type: cds, eds, lds, rds", item)
		}
	}
	return nil
}

// affects tells whether a fault concerns a type: any for which types were asked, or
// else the one that it has on its own.
func (s *settings) affects(t xds.Type, otherwise bool) bool {
	if s.types == nil {
		return otherwise
	}
	return s.types[t]
}

// chosen tells whether a share of all keys includes this one. The choice
// depends on the seed, the fault and the key alone.
func (s *settings) chosen(share float64, fault string, key ...string) bool {
	return share > 0 && s.place(fault, key...) < share
}

// place returns a number in [0,1) that depends on its arguments and the seed.
func (s *settings) place(fault string, key ...string) float64 {
	text := fault + "\x00" + strings.Join(key, "\x00")
	return float64(xxh3.HashStringSeed(text, s.seed)>>11) / (1 << 53)
}
