package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/xdsbench/xdsbench/internal/units"
)

// judge gives the metric its verdict.
func (m *Metric) judge(alpha float64) {
	switch {
	case m.Old == nil || m.New == nil:
		m.Verdict = absent
	case m.P == nil:
		m.Verdict = equal
	case m.appeared():
		m.Verdict, m.Significant, m.Regression = worse, true, true
		m.Note = "must be 0"
	case smallestP(m.Old.N, m.New.N) > alpha:
		m.Verdict = tooFew
	case *m.P > alpha:
		m.Verdict = similar
	default:
		m.Verdict = m.direction()
		m.Significant = *m.Corrected <= alpha
		m.Regression = m.Deciding && m.Significant && m.Verdict == worse && m.beyond()
	}
	if m.Significant && m.Verdict == worse && m.Deciding && !m.Regression {
		m.Note = "not beyond the threshold of " + units.Percent(m.Threshold)
	}
}

// direction is the verdict on a significant change.
func (m *Metric) direction() Verdict {
	rise := m.New.Median - m.Old.Median
	if rise == 0 { // the ranks differ all the same
		rise = mean(m.New.Values) - mean(m.Old.Values)
	}
	switch {
	case m.Better == neither:
		return changed
	case (rise < 0) == (m.Better == lower):
		return better
	}
	return worse
}

// beyond reports whether the change exceeds the threshold; one from zero does.
func (m *Metric) beyond() bool {
	return m.Change == nil || math.Abs(*m.Change) > m.Threshold
}

// reason says in one line why the metric is a regression.
func (m *Metric) reason() string {
	old, current := units.Amount(m.Old.Median, m.Unit), units.Amount(m.New.Median, m.Unit)
	if m.appeared() {
		affected := 0
		for _, v := range m.New.Values {
			if v > 0 {
				affected++
			}
		}
		return fmt.Sprintf("0 in every old run, up to %s in %d of %d new ones; it must be 0, whatever the statistics",
			units.Amount(slices.Max(m.New.Values), m.Unit), affected, m.New.N)
	}
	return fmt.Sprintf("%s to %s (%s), p %s, %s corrected; threshold %s",
		old, current, m.change(), probability(*m.P), probability(*m.Corrected), units.Percent(m.Threshold))
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
