package faults

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/xdsbench/xdsbench/controlplane/internal/env"
)

const prefix = "XDSBENCH_FAULT_"

// The variables that inject faults; see the package's documentation.
const (
	EnvSeed      = prefix + "SEED"
	EnvDelay     = prefix + "DELAY"
	EnvUnserved  = prefix + "UNSERVED"
	EnvStale     = prefix + "STALE"
	EnvLost      = prefix + "LOST"
	EnvDuplicate = prefix + "DUPLICATE"
	EnvOrder     = prefix + "ORDER"
	EnvCPU       = prefix + "CPU"
	EnvFile      = prefix + "FILE"
)

// settings are what the variables ask for.
type settings struct {
	values    map[string]string // as given
	seed      uint64
	delay     delay
	unserved  float64 // share of proxies
	stale     float64 // share of (proxy, cluster)
	lost      int     // every lost-th update of a cluster; 0 for none
	duplicate float64 // share of the responses of pushes
	order     float64 // share of proxies
	cpu       time.Duration
	file      string // where the record goes at the end; empty for nowhere
}

// parse reads the variables of environ. The error joins every bad value, each
// naming its variable. An unknown name is an error: a fault that is not
// injected proves nothing.
func parse(environ map[string]string) (settings, error) {
	s := settings{values: make(map[string]string), seed: 1}
	vars := env.Setters{
		EnvSeed:      env.Var(&s.seed, parseUint, env.Any, "a whole number, not negative"),
		EnvDelay:     s.delay.set,
		EnvUnserved:  share(&s.unserved),
		EnvStale:     share(&s.stale),
		EnvLost:      env.Var(&s.lost, strconv.Atoi, env.AtLeast(0), "a whole number, 0 for no fault"),
		EnvDuplicate: share(&s.duplicate),
		EnvOrder:     share(&s.order),
		EnvCPU:       env.Var(&s.cpu, time.ParseDuration, env.AtLeast[time.Duration](0), "a duration such as 2ms"),
		EnvFile:      func(value string) error { s.file = value; return nil },
	}
	err := vars.Read(environ, prefix, func(name, value string) error {
		return fmt.Errorf("%s=%q: there is no such fault; there are %s",
			name, value, strings.Join(slices.Sorted(maps.Keys(vars)), ", "))
	})
	for name, value := range environ {
		if strings.HasPrefix(name, prefix) {
			s.values[name] = value
		}
	}
	return s, err
}

func share(target *float64) func(string) error {
	return env.Var(target, parseFloat, env.Between(0.0, 1), "a share from 0 to 1, such as 0.03")
}

func parseUint(text string) (uint64, error)   { return strconv.ParseUint(text, 10, 64) }
func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

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
