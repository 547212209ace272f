package controlplane

import (
	"log/slog"
	"runtime"
	"strconv"
	"time"

	"github.com/xdsbench/xdsbench/controlplane/internal/discovery"
	"github.com/xdsbench/xdsbench/controlplane/internal/env"
)

// maxRate bounds PILOT_MAX_REQUESTS_PER_SECOND to what a limiter can express.
const maxRate = 1e9

// readSettings reads the supported variables of istiod. Meaning and defaults are
// istiod's, except that PILOT_MAX_REQUESTS_PER_SECOND is unlimited by default: a
// harness must be able to measure what a connect storm costs. The error joins
// all bad values, each with the name of its variable; unknown PILOT_ variables
// are logged and ignored.
func readSettings(environ map[string]string, log *slog.Logger) (discovery.Config, error) {
	s := discovery.Config{
		DebounceAfter: 100 * time.Millisecond,
		DebounceMax:   10 * time.Second,
		EDSDebounce:   true,
	}
	always, automatic := false, true
	duration := func(target *time.Duration, least time.Duration, want string) func(string) error {
		return env.Var(target, time.ParseDuration, env.AtLeast(least), want)
	}
	boolean := func(target *bool) func(string) error {
		return env.Var(target, strconv.ParseBool, env.Any, "true or false")
	}
	err := env.Setters{
		"PILOT_DEBOUNCE_AFTER":      duration(&s.DebounceAfter, 0, "a duration such as 100ms, not negative"),
		"PILOT_DEBOUNCE_MAX":        duration(&s.DebounceMax, 1, "a duration such as 10s, more than 0"),
		"PILOT_ENABLE_EDS_DEBOUNCE": boolean(&s.EDSDebounce),
		"PILOT_PUSH_THROTTLE":       env.Var(&s.PushThrottle, strconv.Atoi, env.AtLeast(0), "a whole number, 0 for automatic"),
		"PILOT_MAX_REQUESTS_PER_SECOND": env.Var(&s.MaxRequests, func(text string) (float64, error) {
			return strconv.ParseFloat(text, 64)
		}, env.Between(0, maxRate), "a number from 0 (no limit) to 1e9"),
		"PILOT_SEND_UNHEALTHY_ENDPOINTS":      boolean(&always),
		"PILOT_AUTO_SEND_UNHEALTHY_ENDPOINTS": boolean(&automatic),
	}.Read(environ, "PILOT_", func(name, value string) error {
		log.Warn("unknown environment variable has no effect", "name", name, "value", value)
		return nil
	})
	if s.PushThrottle == 0 {
		s.PushThrottle = autoThrottle(runtime.GOMAXPROCS(0))
	}
	// istiod's automatic mode leaves unhealthy endpoints out only where an
	// outlier detection sets minHealthPercent, which does not exist here.
	s.SendUnhealthy = always || automatic
	return s, err
}

// autoThrottle is istiod's choice: 20 pushes in flight for one processor, 5
// more for each further one, at most 100.
func autoThrottle(procs int) int {
	return min(15+5*procs, 100)
}
