package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
)

// section is one part of a report, in any format. detail is left out of short ones.
type section struct {
	title  string
	lines  []string
	table  [][]string // the first row is the head; nil for none
	detail bool
}

// sections put a report in words, the answer first.
func (r *Report) sections() []section {
	all := []section{
		{title: "Answer", lines: r.answerLines()},
		{title: "SLO", lines: r.sloLines()},
		r.runsSection(),
		{title: "Model", lines: r.modelLines()},
		r.holdOutSection(),
		r.predictionSection("Predicted", r.Predictions),
		r.predictionSection("Sizing", r.Sizes),
		{title: "One replica", lines: r.limitLines()},
		{title: "Notes", lines: r.noteLines()},
	}
	all = append(all, section{title: "Inputs", lines: r.inputLines(), detail: true})
	for _, f := range r.fits() {
		all = append(all, residualSection(f))
	}
	all = append(all, section{title: "Assumptions", lines: r.Assumptions, detail: true},
		section{title: "Environment", lines: r.environmentLines(), detail: true},
		section{title: "Commands", lines: r.commandLines(), detail: true})
	return slices.DeleteFunc(all, func(s section) bool { return len(s.lines) == 0 && len(s.table) < 2 })
}

func (r *Report) answerLines() []string {
	if r.Answer == nil {
		return nil
	}
	lines := []string{r.Answer.Text}
	if r.Answer.Soak != "" {
		lines = append(lines, r.Answer.Soak)
	}
	if r.Answer.Low != nil {
		g := r.Plan.Grow
		searches, _ := r.Outcome.whole(!r.Partial)
		lines = append(lines, fmt.Sprintf("%d searches kept it at %s to %s", len(searches), g.text(*r.Answer.Low), g.text(*r.Answer.High)))
	}
	if r.Limits.PushRate > 0 {
		lines = append(lines, "that is "+count(r.Limits.PushRate)+" pushes/s: mutations/s × proxies × pushes per mutation and proxy")
	}
	return append(lines, r.Outcome.notes()...)
}

// notes are what the searches and the soak note of their values.
func (o *Outcome) notes() []string {
	var all []string
	for _, f := range o.Searches {
		all = append(all, f.Notes...)
	}
	if o.Soak != nil {
		for _, n := range o.Soak.Notes {
			all = append(all, "soak: "+n)
		}
	}
	return all
}

func (r *Report) sloLines() []string {
	if r.Plan == nil {
		return nil
	}
	var limits []string
	for _, metric := range slices.Sorted(maps.Keys(r.Plan.Base.SLO)) {
		limits = append(limits, metric+" "+comparison(r.Plan.Base.SLO[metric]))
	}
	text := strings.Join(limits, ", ")
	if r.Plan.DefaultSLO {
		text += " (the default, as the profile has none)"
	}
	return []string{text}
}

func comparison(limit string) string {
	if strings.HasPrefix(limit, "<=") || strings.HasPrefix(limit, ">=") {
		return limit
	}
	return "<= " + limit
}

// runsSection lists the runs of the search; without one, how many were read.
func (r *Report) runsSection() section {
	s := section{title: "Runs"}
	if r.Outcome == nil {
		s.lines = []string{fmt.Sprintf("%d read", len(r.Points))}
		return s
	}
	s.table = [][]string{{"stage", r.Plan.Grow.Field, "verdict", "p99", "CPU", "peak RSS", "pushes/s", "took"}}
	all := slices.Clone(r.Outcome.Searches)
	if r.Outcome.Soak != nil {
		all = append(all, *r.Outcome.Soak)
	}
	for i, f := range all {
		for _, step := range f.Steps {
			stage := step.Stage
			if r.Plan.Repeat > 1 && i < r.Plan.Repeat && stage != StageSoak {
				stage = fmt.Sprintf("%d: %s", i+1, stage)
			}
			row := []string{stage, r.Plan.Grow.text(step.Value), string(step.Verdict), figure(step.P99, "s")}
			s.table = append(s.table, append(row, r.costOf(step)...))
		}
	}
	if n := len(r.Points) - len(s.table) + 1; n > 0 {
		s.lines = []string{fmt.Sprintf("and %d of other folders", n)}
	}
	return s
}

// costOf writes the cost of a step's run, and how long it took.
func (r *Report) costOf(step Step) []string {
	cells := []string{"", "", "", ""}
	if step.WallSeconds > 0 {
		cells[3] = time.Duration(step.WallSeconds * float64(time.Second)).Round(time.Second).String()
	}
	for _, p := range r.Points {
		if strings.HasSuffix(p.Run, step.Run) {
			cells[0], cells[1], cells[2] = figure(p.Cores, "cores"), figure(p.PeakRSS, "bytes"), count(p.PushRate)
			break
		}
	}
	return cells
}

// fits are those of costs that there are.
func (r *Report) fits() []*sizing.Fit {
	m := r.Model
	all := []*sizing.Fit{m.CPU, m.Memory, m.Connect, nil}
	if m.Latency != nil {
		all[3] = m.Latency.Fit
	}
	return slices.DeleteFunc(all, func(f *sizing.Fit) bool { return f == nil })
}

// fitLine writes a fit as a formula.
func fitLine(f *sizing.Fit) string {
	var terms []string
	for _, c := range f.Coefficients {
		terms = append(terms, fmt.Sprintf("%s %s (%s to %s)", amount(c.Value, c.Unit), c.Term, amount(c.Low, c.Unit), amount(c.High, c.Unit)))
	}
	text := f.Name + " = " + strings.Join(terms, " + ") + "; "
	if len(terms) > 1 {
		text += fmt.Sprintf("R² %.4f, ", f.R2)
	}
	return text + fmt.Sprintf("largest error %s, %d runs", percent(f.MaxRelativeError), len(f.Residuals))
}

// inputLines say what pushes and configuration are predicted from.
func (r *Report) inputLines() []string {
	var lines []string
	for _, f := range []*sizing.Fit{r.Model.BytesPerPush, r.Model.ConfigBytes} {
		if f != nil {
			lines = append(lines, fitLine(f))
			for _, n := range f.Notes {
				lines = append(lines, f.Name+": "+n)
			}
		}
	}
	for _, x := range r.Model.PushesPerMutation {
		lines = append(lines, fmt.Sprintf("pushes per mutation and proxy at %s/s: %.3g", count(x.Rate), x.Value))
	}
	return lines
}

func (r *Report) modelLines() []string {
	var lines []string
	for _, f := range r.fits() {
		lines = append(lines, fitLine(f))
	}
	if u := r.Model.Latency; u != nil {
		text := fmt.Sprintf("scalability law: N = 1 is %s %s, contention σ %.3g, coherency κ %.3g", count(u.Unit), u.Load, u.Contention, u.Coherency)
		if u.Peak != nil {
			text += fmt.Sprintf(", throughput falls beyond %s %s", count(*u.Peak), u.Load)
		}
		lines = append(lines, text)
	}
	if len(lines) > 0 {
		lines = append(lines, "in brackets, and after ±: 95 % intervals; a push is one response received by one proxy")
	}
	return lines
}

func (r *Report) noteLines() []string {
	var lines []string
	if r.Outcome != nil {
		lines = append(lines, "a load that fails is run again, and counts as failed only if both runs do")
	}
	for _, f := range r.fits() {
		for _, n := range f.Notes {
			lines = append(lines, f.Name+": "+n)
		}
	}
	lines = append(lines, r.Model.Notes...)
	for _, l := range r.Model.LeftOut {
		lines = append(lines, fmt.Sprintf("not in the fits of CPU and latency: %s: %s", l.Run, strings.Join(l.Reasons, "; ")))
	}
	return lines
}

func residualSection(f *sizing.Fit) section {
	s := section{title: "Residuals: " + f.Name, detail: true, table: [][]string{{"run", "measured", "fitted", "error"}}}
	for _, x := range f.Residuals {
		s.table = append(s.table, []string{x.Run, amount(x.Measured, f.Unit), amount(x.Fitted, f.Unit), signed(x.Error)})
	}
	return s
}

func (r *Report) environmentLines() []string {
	e := r.Environment
	if e == nil {
		return nil
	}
	lines := []string{
		fmt.Sprintf("%d CPUs (%s), %s memory, %s, kernel %s", e.CPUs, e.CPUModel, amount(float64(e.Memory), "bytes"), e.OS, e.Kernel),
		"target: " + e.Target,
	}
	for _, name := range slices.Sorted(maps.Keys(e.Versions)) {
		lines = append(lines, name+" "+e.Versions[name])
	}
	return lines
}

func (r *Report) commandLines() []string {
	var lines []string
	for _, c := range r.Commands {
		lines = append(lines, "`"+c+"`")
	}
	return lines
}
