package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/experiment"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result"
)

// Compare compares two sets of runs.
func Compare(before, after *Set, o Options) (*Report, error) {
	if err := errors.Join(o.Validate(), disjoint(before, after), before.checkSamples(), after.checkSamples()); err != nil {
		return nil, err
	}
	r := &Report{
		Schema: schema, Old: before.info(), New: after.info(),
		Alpha: o.Alpha, Threshold: o.Threshold, Regressions: []Regression{},
		Environment: environmentDifferences(before, after), Profile: profileDifferences(before, after),
	}
	if err := r.checkLoad(&o); err != nil {
		return nil, err
	}
	r.Metrics = collectMetrics(before, after, &o)
	if len(r.Metrics) == 0 {
		return nil, fmt.Errorf("no run has any of the metrics %s", strings.Join(o.Metrics, ", "))
	}
	r.correct()
	for i := range r.Metrics {
		m := &r.Metrics[i]
		m.judge(o.Alpha)
		if m.Regression {
			r.Regressions = append(r.Regressions, Regression{Metric: m.Name, Reason: m.reason()})
		}
	}
	addScatter(r.Metrics, before, after)
	r.conclude(before, after)
	return r, nil
}

// side summarises a metric's values, and returns its unit; nil if no run has it.
func (s *Set) side(name string) (side *Side, unit string) {
	var numbers []float64
	var notes []string
	for _, run := range s.Runs {
		if v, ok := run.values[name]; ok {
			numbers, notes, unit = append(numbers, v.Number), append(notes, v.Note), v.Unit
		}
	}
	if side = summarize(numbers); side != nil {
		side.Note = experiment.Note(notes)
	}
	return side, unit
}

// collectMetrics lists the metrics that are asked for, in the order of the table.
func collectMetrics(before, after *Set, o *Options) []Metric {
	names := make(map[string]bool)
	for _, run := range slices.Concat(before.Runs, after.Runs) {
		for name := range run.values {
			names[name] = true
		}
	}
	all, limits := rules(), slos(before, after)
	var found []Metric
	for name := range names {
		m, shown := newMetric(name, all, limits, o)
		if !shown && !m.MustBeZero {
			continue
		}
		m.measure(before, after)
		// A new defect is never hidden.
		if shown || m.Old != nil && m.New != nil && m.appeared() {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b Metric) int {
		return cmp.Or(cmp.Compare(a.place, b.place), strings.Compare(a.Name, b.Name))
	})
	return found
}

// newMetric says what a metric is; false if it is not to be shown.
func newMetric(name string, all []rule, slo map[string]string, o *Options) (Metric, bool) {
	rule, place := ruleOf(name, all)
	direction, limited := slo[name]
	limit, own := o.threshold(name)
	named := o.named(name)
	shown := named || own || limited || rule.shown || o.All
	if len(o.Metrics) > 0 {
		shown = named
	}
	if rule.better != neither {
		direction = rule.better
	}
	return Metric{
		Name: name, Group: groups()[rule.group], Better: direction,
		Threshold: limit, MustBeZero: rule.role == zero, place: place,
		Deciding: direction != neither && rule.decides(named, own || limited),
	}, shown
}

// decides reports whether a metric does that is asked for by name, or has a
// limit: an SLO or a threshold of its own.
func (r rule) decides(named, limited bool) bool {
	switch r.role {
	case zero, gate:
		return true
	case flag:
		return named || limited
	case inform:
	}
	return limited
}

// slos returns the metrics that the runs' profiles limit, with the direction
// that their limits mean.
func slos(sets ...*Set) map[string]string {
	found := make(map[string]string)
	for _, set := range sets {
		for _, run := range set.Runs {
			for _, s := range run.Result.SLO {
				found[s.Metric] = lower
				if strings.HasPrefix(strings.TrimSpace(s.Limit), ">=") {
					found[s.Metric] = higher
				}
			}
		}
	}
	return found
}

// measure fills in what both sets have.
func (m *Metric) measure(before, after *Set) {
	var unit, unitToo string
	m.Old, unit = before.side(m.Name)
	m.New, unitToo = after.side(m.Name)
	m.Unit = cmp.Or(unit, unitToo)
	if m.Old == nil || m.New == nil {
		return
	}
	if m.Old.Median != 0 {
		change := (m.New.Median - m.Old.Median) / math.Abs(m.Old.Median)
		m.Change = &change
	}
	both := slices.Concat(m.Old.Values, m.New.Values)
	if slices.Min(both) < slices.Max(both) {
		p := pValue(m.Old.Values, m.New.Values)
		m.P = &p
		m.counted = m.Deciding && !m.appeared()
	}
}

// appeared reports whether a defect is in new runs only.
func (m *Metric) appeared() bool {
	return m.MustBeZero && slices.Max(m.Old.Values) == 0 && slices.Max(m.New.Values) > 0
}

// correct corrects the p-values of the deciding metrics and of the others.
func (r *Report) correct() {
	var deciding, rest []*Metric
	for i := range r.Metrics {
		switch m := &r.Metrics[i]; {
		case m.P == nil:
		case m.counted:
			deciding = append(deciding, m)
		default:
			rest = append(rest, m)
		}
	}
	r.Deciding = len(deciding)
	setCorrected(deciding, holm)
	setCorrected(rest, benjaminiHochberg)
}

func setCorrected(metrics []*Metric, correct func([]float64) []float64) {
	p := make([]float64, len(metrics))
	for i, m := range metrics {
		p[i] = *m.P
	}
	for i, corrected := range correct(p) {
		metrics[i].Corrected = &corrected
	}
}

// conclude draws the conclusion, and says what weakens it.
func (r *Report) conclude(before, after *Set) {
	r.RunsNeeded = runsNeeded(r.Alpha / float64(max(r.Deciding, 1)))
	n, m := before.samples(), after.samples()
	cannotTell := r.Deciding > 0 && smallestP(n, m) > r.Alpha/float64(r.Deciding)
	switch {
	case len(r.Regressions) > 0:
		r.Conclusion = Regressed
	case cannotTell:
		r.Conclusion = undecided
	default:
		r.Conclusion = notRegressed
	}
	if cannotTell {
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"too few repeats to tell: %d and %d; at least %d each are needed for %s at a level of %v; with --metric fewer decide, and fewer runs may do",
			n, m, r.RunsNeeded, r.varying(), r.Alpha))
	}
	for _, x := range r.Metrics {
		if x.Deciding && x.Verdict == absent {
			r.Warnings = append(r.Warnings, x.Name+" decides, but only one side has it: it was not judged")
		}
	}
	if r.count(func(m *Metric) bool { return m.Deciding }) == 0 {
		r.Warnings = append(r.Warnings, "none of these metrics decides: they describe the load or the harness, or have no better direction")
	}
	r.Warnings = append(r.Warnings, caveats(before, "old")...)
	r.Warnings = append(r.Warnings, caveats(after, "new")...)
}

// addScatter says of quantiles of single runs how they lie to what the scatter within
// each run explains.
func addScatter(metrics []Metric, before, after *Set) {
	if len(before.Runs) != 1 || len(after.Runs) != 1 {
		return
	}
	old, current := scatter(before.Runs[0].Result), scatter(after.Runs[0].Result)
	for i := range metrics {
		m := &metrics[i]
		a, ok := old[m.Name]
		b, okToo := current[m.Name]
		switch {
		case !ok || !okToo || m.Verdict != tooFew:
		case a.Overlaps(b):
			m.Note = "within-run scatter overlaps"
		default:
			m.Note = fmt.Sprintf("beyond within-run scatter: %s, %s", units.Range(a.Low, a.High, "s"), units.Range(b.Low, b.High, "s"))
		}
	}
}

// scatter returns the intervals of quantiles within one run, by their metrics.
func scatter(r *result.Result) map[string]result.Range {
	if r.Propagation == nil || r.Propagation.Noise == nil {
		return nil
	}
	n := r.Propagation.Noise
	return map[string]result.Range{
		"propagation.all.p50": n.P50, "propagation.all.p90": n.P90, "propagation.all.p99": n.P99,
	}
}
