package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/report"
)

// hint marks a verdict that does not stay significant after the correction.
const hint = "?"

// section is the part of the table that one group has.
type section struct {
	title string
	rows  []row
	// zeros are the metrics that are zero in every run.
	zeros []string
}

// row is one metric in words.
type row struct {
	deciding bool
	cells    []string // metric, old, new, change, p, verdict
	note     string
}

func tableHead() []string { return []string{"metric", "old", "new", "change", "p", "verdict"} }

// sections splits the metrics by group.
func (r *Report) sections() []section {
	var all []section
	for _, title := range groups() {
		s := section{title: title}
		for i := range r.Metrics {
			m := &r.Metrics[i]
			switch {
			case m.Group != title:
			case m.Verdict == Equal && m.Old.Median == 0:
				s.zeros = append(s.zeros, m.Name)
			default:
				s.rows = append(s.rows, m.row())
			}
		}
		if len(s.rows) > 0 || len(s.zeros) > 0 {
			all = append(all, s)
		}
	}
	return all
}

func (m *Metric) row() row {
	p := ""
	if m.P != nil && m.Verdict != TooFew {
		p = probability(*m.P)
	}
	return row{
		deciding: m.Deciding,
		cells:    []string{m.Name, m.Old.text(m.Unit), m.New.text(m.Unit), m.change(), p, m.verdictText()},
		note:     m.Note,
	}
}

func (m *Metric) verdictText() string {
	text := string(m.Verdict)
	switch {
	case m.Regression:
		return "WORSE"
	case (m.Verdict == Better || m.Verdict == Worse || m.Verdict == Changed) && !m.Significant:
		return text + hint
	}
	return text
}

// text writes the median and how far the interval reaches from it.
func (s *Side) text(unit string) string {
	if s == nil {
		return absent
	}
	text := report.Amount(s.Median, unit)
	spread := max(s.High-s.Median, s.Median-s.Low)
	switch {
	case spread == 0:
		return text
	case s.Median == 0:
		return text + " ± " + report.Amount(spread, unit)
	}
	return text + " ± " + percent(spread/math.Abs(s.Median))
}

// change writes the change in percent, or from zero as it is.
func (m *Metric) change() string {
	switch {
	case m.Old == nil || m.New == nil || m.Verdict == Equal:
		return ""
	case m.Change != nil:
		return signed(percent(*m.Change))
	case m.New.Median != 0:
		return signed(report.Amount(m.New.Median, m.Unit))
	}
	return ""
}

func signed(text string) string {
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "0 ") || strings.HasPrefix(text, "~") {
		return text
	}
	return "+" + text
}

// percent writes a ratio with a decimal below 10 %.
func percent(ratio float64) string {
	x := 100 * ratio
	if x != 0 && math.Abs(x) < 0.05 {
		return "~0 %"
	}
	decimals := 0
	if math.Abs(x) < 9.95 && x != math.Trunc(x) {
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64) + " %"
}

// probability writes a p-value with three decimals.
func probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// headline says what was concluded, in one line.
func (r *Report) headline() string {
	switch r.Conclusion {
	case Regressed:
		return fmt.Sprintf("REGRESSION  %s worse", plural(len(r.Regressions), "metric is", "metrics are"))
	case Undecided:
		return fmt.Sprintf("UNDECIDED  too few runs to tell: %d and %d, at least %d each are needed", len(r.Old.Runs), len(r.New.Runs), r.RunsNeeded)
	case NotRegressed:
	}
	text := fmt.Sprintf("OK  no regression found in %s of %d and %d runs",
		plural(r.count(func(m *Metric) bool { return m.Deciding }), "deciding metric", "deciding metrics"), len(r.Old.Runs), len(r.New.Runs))
	if n := r.count(func(m *Metric) bool { return m.Deciding && m.Significant && m.Verdict == Better }); n > 0 {
		text += fmt.Sprintf("; %d better", n)
	}
	return text
}

func (r *Report) count(is func(*Metric) bool) int {
	n := 0
	for i := range r.Metrics {
		if is(&r.Metrics[i]) {
			n++
		}
	}
	return n
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// legend explains the table.
func (r *Report) legend() []string {
	return []string{
		"Medians of the runs; ± to the far end of their 95 % interval, of fewer than 6 runs to the farthest.",
		fmt.Sprintf("p: Mann-Whitney U test, before correction. better, worse, changed: significant at %v after it;", r.Alpha),
		fmt.Sprintf("with %s before it only. ~: no significant change. =: equal in all runs. WORSE: a regression.", hint),
		fmt.Sprintf("• decides (corrected by Holm for %d that vary). The others never fail (Benjamini-Hochberg).", r.Deciding),
	}
}

// line writes a difference.
func (d *Difference) line() string {
	return fmt.Sprintf("%s: %s -> %s", d.Field, listed(d.Old), listed(d.New))
}
