package harness

import (
	"context"
	"strings"
	"time"

	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
	"github.com/xdsbench/xdsbench/result/rows"
	"github.com/xdsbench/xdsbench/target"
)

// costReading is what the target had used at an instant.
type costReading struct {
	at    time.Time
	usage target.Usage
}

// readCost notes what the target has used so far. One that does not tell is
// warned of at the end.
func (r *run) readCost(ctx context.Context) {
	if usage, err := r.target.Usage(ctx); err == nil {
		r.observed.costs = append(r.observed.costs, costReading{time.Now(), usage})
	}
}

// explain adds to a result where the time went and what it cost the control
// plane, and warns of what could not be seen.
func (r *run) addStagesAndCost(res *result.Result, lines []rows.Timeline) {
	res.TimelineRows = lines
	c := res.ControlPlane
	c.Steady = steadyCost(r.observed.costs, lines)
	res.Harness.SteadyCores = harnessCores(lines)
	info := r.target.Info()
	debounce, err := observe.DebounceOf(info.Env, info.Kind == target.KindIstiod || info.Kind == target.KindEmbedded)
	if err != nil {
		r.warn("debounce: %v", err)
	}
	for _, text := range r.observed.after { // only those whose pushes are counted; none means one
		if text != nil {
			debounce.Replicas++
		}
	}
	debounce.Steady = r.cfg.Profile.Phases.Steady.Duration
	r.warnAll(observe.AddStages(res, debounce))
	observe.AddSignals(res)
	switch {
	case c.Metrics == nil:
		r.warn("control plane: no metrics to read before and after steady load: stages and signals have our own figures only")
	case c.Metrics.Restarted && r.several():
		r.warn("control plane: a replica was restarted during steady load, so its metrics count from then: stages have our own figures only")
	case c.Metrics.Restarted:
		r.warn("control plane: restarted during steady load, so its metrics count from then: stages have our own figures only")
	case len(c.Missing) > 0:
		r.warn("control plane: it does not serve %s: what they would show is missing from stages and signals", strings.Join(c.Missing, ", "))
	}
}

// steadyCost is what the target used between the two readings; nil without them.
func steadyCost(readings []costReading, lines []rows.Timeline) *observed.Cost {
	if len(readings) < 2 {
		return nil
	}
	from, to := readings[0], readings[len(readings)-1]
	c := &observed.Cost{
		WallSeconds: to.at.Sub(from.at).Seconds(), CPUSeconds: to.usage.CPUSeconds - from.usage.CPUSeconds,
		PeakRSSBytes: int64(max(from.usage.RSSBytes, to.usage.RSSBytes)),
	}
	if c.WallSeconds > 0 {
		c.Cores = c.CPUSeconds / c.WallSeconds
	}
	c.PeakCores = c.Cores
	for _, line := range lines {
		if line.Phase != string(PhaseSteady) && line.Phase != string(PhaseDrain) {
			continue
		}
		if line.Cores != nil {
			c.PeakCores = max(c.PeakCores, *line.Cores)
		}
		if line.RSSBytes != nil {
			c.PeakRSSBytes = max(c.PeakRSSBytes, *line.RSSBytes)
		}
	}
	return c
}

// harnessCores is the mean of what the harness used under steady load; nil if no
// second of it is known.
func harnessCores(lines []rows.Timeline) *float64 {
	var used, seconds float64
	for i, line := range lines {
		if i == 0 || line.Phase != string(PhaseSteady) || line.HarnessCores == nil {
			continue
		}
		second := line.T - lines[i-1].T
		used += *line.HarnessCores * second
		seconds += second
	}
	if seconds == 0 {
		return nil
	}
	return new(used / seconds)
}
