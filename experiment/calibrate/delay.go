package calibrate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/xdsbench/xdsbench/controlplane/faults"
)

// spread keeps deliveries apart; see the package's documentation.
const spread = "spread(200ms)"

// delayTolerance and delayShare bound the error of a delay: the larger counts.
const (
	delayTolerance = time.Millisecond
	delayShare     = 0.02
)

// delayScenario is a run with a delay beside the spread; empty for none.
func delayScenario(name, delay string, check func(*scenario, *outcome, *outcome) []Line) scenario {
	env := map[string]string{faults.EnvDelay: spread}
	if delay != "" {
		env[faults.EnvDelay] = delay + "+" + spread
	}
	return scenario{name: name, env: env, drain: delayDrain, check: check}
}

// scenarios lists the runs: one that is thrown away, since the first run of a
// process finds everything cold, then the baseline.
func scenarios(cfg Config) []scenario {
	list := []scenario{delayScenario("warm-up", "", nil), delayScenario("baseline", "", checkBaseline)}
	constants := []string{"1ms", "10ms", "100ms"}
	if cfg.Quick {
		constants = []string{"10ms"}
	}
	for _, d := range constants {
		list = append(list, delayScenario("delay-"+d, d, checkConstant))
	}
	if !cfg.Quick {
		list = append(list, delayScenario("delay-exponential", "exponential(50ms)", checkDistribution))
	}
	return append(list, faultScenario(cfg))
}

// checkBaseline has no delay to compare: the others are compared with it.
func checkBaseline(_ *scenario, _, run *outcome) []Line {
	return []Line{complete("no fault", run)}
}

func checkConstant(s *scenario, baseline, run *outcome) []Line {
	return delayLines(strings.TrimSuffix(s.env[faults.EnvDelay], "+"+spread), run, func(q float64) (injected, measured float64) {
		return run.injected(q) - baseline.injected(q), run.measured(q) - baseline.measured(q)
	})
}

func checkDistribution(s *scenario, baseline, run *outcome) []Line {
	cost := baseline.measured(0.50) - baseline.injected(0.50)
	return delayLines(s.env[faults.EnvDelay], run, func(q float64) (injected, measured float64) {
		return run.injected(q), run.measured(q) - cost
	})
}

// delayLines compare the median and the p99 of a delay, in seconds, and check that
// nothing was lost.
func delayLines(delay string, run *outcome, at func(q float64) (injected, measured float64)) []Line {
	fault := "delay " + delay
	var lines []Line
	for _, q := range []float64{0.50, 0.99} {
		injected, measured := at(q)
		lines = append(lines, delayLine(fault, q, injected, measured))
	}
	return append(lines, complete(fault, run))
}

// delayLine compares a delay in seconds.
func delayLine(fault string, q, injected, measured float64) Line {
	tolerance := max(delayTolerance.Seconds(), delayShare*injected)
	return Line{
		Fault: fault, Figure: fmt.Sprintf("propagation.all p%.0f", 100*q), Unit: "s",
		Injected: injected, Measured: measured, Tolerance: tolerance,
		Pass: math.Abs(measured-injected) <= tolerance,
	}
}

// complete checks that a run without losses lost nothing.
func complete(fault string, run *outcome) Line {
	p := run.result.Propagation
	line := countLine(fault, "propagation.deliveries", int(p.Expected), int(p.Deliveries))
	if p.UnknownStates > 0 {
		line.Pass = false
		line.Problem = fmt.Sprintf("%d unknown states", p.UnknownStates)
	}
	return line
}

// countLine compares a count, which must be equal.
func countLine(fault, figure string, injected, measured int) Line {
	return Line{
		Fault: fault, Figure: figure, Injected: float64(injected), Measured: float64(measured), Pass: injected == measured,
	}
}

// injected returns a quantile of the delays recorded, in seconds, by the rank
// that HdrHistogram takes.
func (o *outcome) injected(q float64) float64 {
	if len(o.record.Delays) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(o.record.Delays))
	rank := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[max(rank, 0)].Seconds()
}

// measured returns a quantile of the reported latencies, in seconds.
func (o *outcome) measured(q float64) float64 {
	all := o.result.Propagation.All
	if q > 0.5 {
		return all.P99
	}
	return all.P50
}
