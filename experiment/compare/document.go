package compare

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result/verdict"
)

// hint marks a verdict that does not stay significant after the correction.
const hint = "?"

// Document is the comparison for people.
func (r *Report) Document() *doc.Document {
	d := &doc.Document{}
	r.headline(d)
	for _, x := range r.Regressions {
		d.Section("").List(x.Metric + ": " + x.Reason)
	}
	facts := d.Section("")
	facts.Pair("Old", r.Old.text())
	facts.Pair("New", r.New.text())
	differences(facts, "Profile", r.Profile)
	differences(facts, "Environment", r.Environment)
	r.table(d.Section("Metrics").Table())
	zeros := d.Section("0 in all runs")
	for _, group := range groups() {
		zeros.Pair(group, strings.Join(r.zeros(group), ", "))
	}
	d.Section("Legend").List(r.legend()...)
	warnings := d.Section("")
	for _, warning := range r.Warnings {
		warnings.Pair("Warning", warning)
	}
	return d
}

// headline sets the verdict and the sentence after it.
func (r *Report) headline(d *doc.Document) {
	n, m := len(r.Old.Runs), len(r.New.Runs)
	switch r.Conclusion {
	case Regressed:
		d.Verdict, d.VerdictStyle = "REGRESSION", doc.Bad
		d.Headline = units.Plural(len(r.Regressions), "metric is", "metrics are") + " worse"
	case undecided:
		d.Verdict, d.VerdictStyle = "UNDECIDED", doc.Warn
		d.Headline = fmt.Sprintf("too few runs to tell: %d and %d, at least %d each are needed", n, m, r.RunsNeeded)
	case notRegressed:
		d.Verdict, d.VerdictStyle = "OK", doc.Good
		d.Headline = fmt.Sprintf("no regression found in %s of %d and %d runs",
			units.Plural(r.count(func(m *Metric) bool { return m.Deciding }), "deciding metric", "deciding metrics"), n, m)
		if better := r.count(func(m *Metric) bool { return m.Deciding && m.Significant && m.Verdict == better }); better > 0 {
			d.Headline += fmt.Sprintf("; %d better", better)
		}
	}
}

// text names the set, and says how many runs have a verdict that puts it in question.
func (s SetInfo) text() string {
	counts := make(map[string]int)
	for _, v := range s.Verdicts {
		counts[v]++
	}
	parts := []string{units.Plural(len(s.Runs), "run", "runs")}
	for _, v := range []string{verdict.Failed, verdict.NoData, verdict.Defects} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	return s.Path + " (" + strings.Join(parts, ", ") + ")"
}

func differences(s *doc.Section, label string, all []Difference) {
	if len(all) == 0 {
		s.Pair(label, "the same")
	}
	for i := range all {
		s.Pair(label, all[i].text())
	}
}

func (d *Difference) text() string {
	return fmt.Sprintf("%s: %s -> %s", d.Field, listed(d.Old), listed(d.New))
}

// table lists the metrics by group, without those that are zero in every run.
func (r *Report) table(t *doc.Table) {
	t.Left("").Code("metric").Right("old", "new", "change", "p").Left("verdict", "")
	for _, group := range groups() {
		named := false
		for i := range r.Metrics {
			m := &r.Metrics[i]
			if m.Group != group || m.isZero() {
				continue
			}
			if !named {
				t.Group(group)
				named = true
			}
			m.row(t)
		}
	}
}

// zeros names the metrics of a group that are zero in every run.
func (r *Report) zeros(group string) []string {
	var names []string
	for i := range r.Metrics {
		if m := &r.Metrics[i]; m.Group == group && m.isZero() {
			names = append(names, m.Name)
		}
	}
	return names
}

func (m *Metric) isZero() bool { return m.Verdict == equal && m.Old.Median == 0 }

func (m *Metric) row(t *doc.Table) {
	mark, p, text, style := "", "", string(m.Verdict), doc.Plain
	if m.Deciding {
		mark = "•"
	}
	if m.P != nil && m.Verdict != tooFew {
		p = probability(*m.P)
	}
	switch {
	case m.Regression:
		text, style = "WORSE", doc.Bad
	case (m.Verdict == better || m.Verdict == worse || m.Verdict == changed) && !m.Significant:
		text += hint
	case m.Verdict == better:
		style = doc.Good
	case m.Verdict == worse:
		style = doc.Warn
	}
	t.Row(mark, m.Name, m.Old.text(m.Unit), m.New.text(m.Unit), m.change(), p, text, m.Note).Mark(6, style)
}

// text writes the median, how far the interval reaches from it, and the note.
func (s *Side) text(unit string) string {
	if s == nil {
		return string(absent)
	}
	text := units.Margin(s.Median, max(s.High-s.Median, s.Median-s.Low), unit)
	if s.Note != "" {
		text += " (" + s.Note + ")"
	}
	return text
}

// change writes the change in percent, or from zero as it is.
func (m *Metric) change() string {
	switch {
	case m.Old == nil || m.New == nil || m.Verdict == equal:
		return ""
	case m.Change != nil:
		return units.Signed(units.Percent(*m.Change))
	case m.New.Median != 0:
		return units.Signed(units.Amount(m.New.Median, m.Unit))
	}
	return ""
}

// probability writes a p-value with three decimals.
func probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
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

// varying counts the metrics that the p-values of deciding ones are corrected for.
func (r *Report) varying() string {
	return units.Plural(r.Deciding, "deciding metric that varies", "deciding metrics that vary")
}

// legend explains the table.
func (r *Report) legend() []string {
	return []string{
		"old, new: medians of the runs; ± to the far end of their 95 % interval or, for fewer than 6 runs, to the farthest of them.",
		"p: Mann-Whitney U test, before correction.",
		fmt.Sprintf("better, worse, changed: significant at %v after correction; with %s before it only. WORSE: a regression. ~: no significant change. =: equal in all runs.", r.Alpha, hint),
		"•: decides; corrected by Holm for " + r.varying() + ". The others never fail (Benjamini-Hochberg).",
	}
}
