package controlplane

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"
)

// FaultPrefix begins the names of all fault variables. Unlike PILOT_ ones, an
// unknown name is an error: a fault that is not injected proves nothing.
const FaultPrefix = "XDSBENCH_FAULT_"

// The variables that inject faults; see the package's documentation.
const (
	FaultSeed      = FaultPrefix + "SEED"
	FaultDelay     = FaultPrefix + "DELAY"
	FaultUnserved  = FaultPrefix + "UNSERVED"
	FaultStale     = FaultPrefix + "STALE"
	FaultLost      = FaultPrefix + "LOST"
	FaultDuplicate = FaultPrefix + "DUPLICATE"
	FaultOrder     = FaultPrefix + "ORDER"
	FaultCPU       = FaultPrefix + "CPU"
	FaultFile      = FaultPrefix + "FILE"
)

// faultSpec is what the fault variables ask for.
type faultSpec struct {
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

// parseFaults reads the fault variables of env. It returns nil if none is set.
// The error joins every bad value, each naming its variable.
func parseFaults(env map[string]string) (*faultSpec, error) {
	s := &faultSpec{values: make(map[string]string), seed: 1}
	set := map[string]func(string) error{
		FaultSeed:      uintVar(&s.seed),
		FaultDelay:     s.delay.set,
		FaultUnserved:  shareVar(&s.unserved),
		FaultStale:     shareVar(&s.stale),
		FaultLost:      intVar(&s.lost),
		FaultDuplicate: shareVar(&s.duplicate),
		FaultOrder:     shareVar(&s.order),
		FaultCPU:       durationVar(&s.cpu, 0),
		FaultFile:      func(value string) error { s.file = value; return nil },
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, FaultPrefix) {
			continue
		}
		s.values[name] = env[name]
		assign, known := set[name]
		if !known {
			problems = append(problems, fmt.Errorf("%s=%q: there is no such fault; there are %s",
				name, env[name], strings.Join(slices.Sorted(maps.Keys(set)), ", ")))
			continue
		}
		if err := assign(env[name]); err != nil {
			problems = append(problems, fmt.Errorf("%s=%q: %w", name, env[name], err))
		}
	}
	if len(s.values) == 0 {
		return nil, nil //nolint:nilnil // no faults is no error.
	}
	return s, errors.Join(problems...)
}

// chosen tells whether a share of all keys includes this one. The choice
// depends on the seed, the fault and the key alone.
func (s *faultSpec) chosen(share float64, fault string, key ...string) bool {
	return share > 0 && s.draw(fault, key...) < share
}

// draw returns a number in [0,1) that depends on its arguments and the seed.
func (s *faultSpec) draw(fault string, key ...string) float64 {
	text := fault + "\x00" + strings.Join(key, "\x00")
	return float64(xxh3.HashStringSeed(text, s.seed)>>11) / (1 << 53)
}

func shareVar(target *float64) func(string) error {
	return func(value string) error {
		parsed, err := strconv.ParseFloat(value, 64)
		// The comparison is written so that NaN fails it.
		if err != nil || !(parsed >= 0 && parsed <= 1) {
			return errors.New("must be a share from 0 to 1, such as 0.03")
		}
		*target = parsed
		return nil
	}
}

func uintVar(target *uint64) func(string) error {
	return func(value string) error {
		parsed, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return fmt.Errorf("must be a whole number from 0 to %d", uint64(math.MaxUint64))
		}
		*target = parsed
		return nil
	}
}
