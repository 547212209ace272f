package controlplane

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Names of the environment variables that are understood. Meaning and
// defaults are istiod's, except for PILOT_MAX_REQUESTS_PER_SECOND, whose
// default here is no limit: a harness wants to know what a connect storm costs
// before it wants to be protected from one.
const (
	envDebounceAfter = "PILOT_DEBOUNCE_AFTER"
	envDebounceMax   = "PILOT_DEBOUNCE_MAX"
	envEDSDebounce   = "PILOT_ENABLE_EDS_DEBOUNCE"
	envPushThrottle  = "PILOT_PUSH_THROTTLE"
	envMaxRequests   = "PILOT_MAX_REQUESTS_PER_SECOND"
	envUnhealthy     = "PILOT_SEND_UNHEALTHY_ENDPOINTS"
	envAutoUnhealthy = "PILOT_AUTO_SEND_UNHEALTHY_ENDPOINTS"

	envPrefix = "PILOT_"
)

// settings are the knobs after parsing.
type settings struct {
	debounceAfter time.Duration // quiet time before a push
	debounceMax   time.Duration // longest wait since the first event
	edsDebounce   bool          // false pushes endpoint changes at once
	pushThrottle  int           // pushes in flight, at least 1
	maxRequests   float64       // new streams per second, 0 for no limit
	sendUnhealthy bool          // endpoints that are not ready appear as UNHEALTHY
	faults        *faultSpec    // nil for none
}

// parseEnv reads the knobs from env. The error joins every bad value, each
// naming its variable; unknown PILOT_ variables are logged and ignored.
func parseEnv(env map[string]string, log *slog.Logger) (settings, error) {
	s := settings{
		debounceAfter: 100 * time.Millisecond,
		debounceMax:   10 * time.Second,
		edsDebounce:   true,
	}
	always, automatic := false, true
	set := map[string]func(string) error{
		envDebounceAfter: durationVar(&s.debounceAfter, 0),
		envDebounceMax:   durationVar(&s.debounceMax, time.Nanosecond),
		envEDSDebounce:   boolVar(&s.edsDebounce),
		envPushThrottle:  intVar(&s.pushThrottle),
		envMaxRequests:   floatVar(&s.maxRequests),
		envUnhealthy:     boolVar(&always),
		envAutoUnhealthy: boolVar(&automatic),
	}
	var problems []error
	var err error
	if s.faults, err = parseFaults(env); err != nil {
		problems = append(problems, err)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, envPrefix) {
			continue
		}
		assign, known := set[name]
		if !known {
			log.Warn("environment variable is not known and has no effect", "name", name, "value", env[name])
			continue
		}
		if err := assign(env[name]); err != nil {
			problems = append(problems, fmt.Errorf("%s=%q: %w", name, env[name], err))
		}
	}
	if s.pushThrottle == 0 {
		s.pushThrottle = autoThrottle(runtime.GOMAXPROCS(0))
	}
	// istiod's automatic mode leaves unhealthy endpoints out only where an
	// outlier detection sets minHealthPercent, which cannot be said here.
	s.sendUnhealthy = always || automatic
	return s, errors.Join(problems...)
}

// autoThrottle is istiod's choice: 20 pushes in flight for one processor, 5
// more for each further one, at most 100.
func autoThrottle(procs int) int {
	return min(15+5*procs, 100)
}

func durationVar(target *time.Duration, least time.Duration) func(string) error {
	return func(value string) error {
		parsed, err := time.ParseDuration(value)
		if err != nil {
			return errors.New("is no duration; write it like 100ms or 10s")
		}
		if parsed < least {
			return fmt.Errorf("must be at least %s", least)
		}
		*target = parsed
		return nil
	}
}

func boolVar(target *bool) func(string) error {
	return func(value string) error {
		parsed, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("is neither true nor false")
		}
		*target = parsed
		return nil
	}
}

func intVar(target *int) func(string) error {
	return func(value string) error {
		parsed, err := strconv.Atoi(value)
		if err != nil || parsed < 0 {
			return errors.New("must be a whole number, 0 for automatic")
		}
		*target = parsed
		return nil
	}
}

func floatVar(target *float64) func(string) error {
	return func(value string) error {
		parsed, err := strconv.ParseFloat(value, 64)
		// The comparison is written so that NaN fails it.
		if err != nil || !(parsed >= 0 && parsed <= maxRate) {
			return fmt.Errorf("must be a number from 0 (no limit) to %g", maxRate)
		}
		*target = parsed
		return nil
	}
}

// maxRate bounds request rates to what a limiter can express sensibly.
const maxRate = 1e9
