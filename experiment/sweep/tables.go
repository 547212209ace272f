package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/report"
)

// table is a table of the reports. The first column names a setting or a part.
type table struct {
	title string
	head  []string
	rows  [][]string
}

// The marks before a setting's name.
const (
	markFront  = "*"
	markNoisy  = "~"
	markDoubt  = "!"
	markFailed = "x"
)

func (r *Report) mark(o *Outcome) string {
	switch {
	case o.Valid == 0 && len(o.Failures) > 0:
		return markFailed
	case !o.sound() && (o.has(finished) || o.has(failed)):
		return markDoubt
	case o.Noisy:
		return markNoisy
	case slices.Contains(r.Front, o.ID):
		return markFront
	}
	return ""
}

// legend explains the marks.
func legend() string {
	return markFront + " on the front   " + markNoisy + " noisy   " + markDoubt + " doubts: no conclusions   " + markFailed + " failed"
}

// tradeOff is the table that settings are chosen from.
func (r *Report) tradeOff() table {
	t := table{title: "Latency and cost", head: []string{"", "setting", "p50", "p99", "(least to largest)", "last proxy p99", "CPU", "(least to largest)", "peak RSS", "valid runs"}}
	if r.hasSLO() {
		t.head = append(t.head, "SLO")
	}
	for i := range r.Settings {
		o := &r.Settings[i]
		row := []string{
			r.mark(o), o.label(), o.cell(LatencyP50), o.cell(LatencyP99), o.rangeCell(LatencyP99), o.cell(LastProxyP99),
			o.cell(CPUSeconds), o.rangeCell(CPUSeconds), o.cell(PeakRSS), fmt.Sprintf("%d of %d", o.Valid, len(o.Runs)),
		}
		if r.hasSLO() {
			row = append(row, o.sloCell())
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// work is the table of what the control plane did for it.
func (r *Report) work() table {
	t := table{title: "Work", head: []string{"", "setting", "debounce", "queue", "generation", "rounds", "changes per round", "pushes", "saved", "received", "NACKs", "unreached"}}
	for i := range r.Settings {
		o := &r.Settings[i]
		t.rows = append(t.rows, []string{
			r.mark(o), o.label(), o.cell(DebounceMean), o.cell(QueueMean), o.cell(PushMean), o.cell(Rounds), o.cell(MutationsPerRound),
			o.cell(Pushes), o.savedCell(), o.cell(BytesReceived), o.cell(Nacks), o.cell(Unreached),
		})
	}
	return t
}

// table shows the parts of two settings' processor time side by side.
func (c *contrast) table() table {
	t := table{
		title: fmt.Sprintf("CPU by part: %s against %s", c.from.Name, c.to.Name),
		head:  []string{"", "part", "first", "share", "second", "share", "difference"},
	}
	for _, name := range c.parts {
		a, b := c.a.Parts[name], c.b.Parts[name]
		t.rows = append(t.rows, []string{
			"", name, report.Amount(a.Amount, c.a.Unit), fmt.Sprintf("%.1f %%", 100*a.Share),
			report.Amount(b.Amount, c.b.Unit), fmt.Sprintf("%.1f %%", 100*b.Share), signed(b.Amount-a.Amount, c.a.Unit),
		})
	}
	return t
}

func signed(x float64, unit string) string {
	if x > 0 {
		return "+" + report.Amount(x, unit)
	}
	return report.Amount(x, unit)
}

func (r *Report) hasSLO() bool { return len(r.Plan.Base.SLO) > 0 || r.variesSLO() }

func (o *Outcome) label() string {
	if o.Base {
		return o.Name + " (as the profile)"
	}
	return o.Name
}

// cell writes a figure's median; "-" if it was not measured.
func (o *Outcome) cell(name string) string {
	f, ok := o.Figures[name]
	if !ok {
		return "-"
	}
	return report.Amount(f.Median, f.Unit)
}

func (o *Outcome) rangeCell(name string) string {
	f, ok := o.Figures[name]
	if !ok {
		return "-"
	}
	low, high := report.Amount(f.Min, f.Unit), report.Amount(f.Max, f.Unit)
	if number, unit, ok := strings.Cut(low, " "); ok && strings.HasSuffix(high, " "+unit) {
		low = number
	}
	return low + " to " + high
}

func (o *Outcome) savedCell() string {
	f, ok := o.Figures[PushesSaved]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*f.Median)
}

func (o *Outcome) sloCell() string {
	switch {
	case !o.has(finished):
		return "-"
	case len(o.MissedSLO) > 0:
		return "missed"
	}
	return "kept"
}

// notes are the reasons behind the marks, one line each.
func (r *Report) notes() []string {
	var notes []string
	for i := range r.Settings {
		o := &r.Settings[i]
		for _, f := range o.Failures {
			notes = append(notes, fmt.Sprintf("%s: failed: %s", o.Name, strings.ReplaceAll(f, "\n", "; ")))
		}
		for _, d := range o.Doubts {
			notes = append(notes, fmt.Sprintf("%s: %s", o.Name, d))
		}
		if o.Noisy {
			notes = append(notes, fmt.Sprintf("%s: noisy: the p99 spans %.0f %% of its median over the repeats", o.Name, 100*o.p99().spread()))
		}
		if len(o.MissedSLO) > 0 {
			notes = append(notes, fmt.Sprintf("%s: misses the SLO: %s", o.Name, strings.Join(o.MissedSLO, ", ")))
		}
		if n := o.count(missing); n > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d of %d runs are still to be made", o.Name, n, len(o.Runs)))
		}
	}
	return append(notes, r.Warnings...)
}

func (o *Outcome) count(state string) (n int) {
	for _, r := range o.Runs {
		if r.State == state {
			n++
		}
	}
	return n
}

// headline is the sweep in a sentence.
func (r *Report) headline() string {
	done, all := 0, 0
	for i := range r.Settings {
		done += r.Settings[i].count(finished)
		all += len(r.Settings[i].Runs)
	}
	text := fmt.Sprintf("%s: %d settings, %d of %d runs finished", r.Profile, len(r.Settings), done, all)
	if r.Partial {
		return "PARTIAL  " + text
	}
	if bad := len(r.Failed()); bad > 0 {
		return fmt.Sprintf("FAIL  %s; %d without a valid run", text, bad)
	}
	return "DONE  " + text
}
