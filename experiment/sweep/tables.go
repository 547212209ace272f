package sweep

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/xdsbench/xdsbench/report"
)

// table is a table of the reports. The first columns name a setting or a part.
type table struct {
	title string
	head  []string
	rows  [][]string
	// left is how many columns are aligned to the left; the others are figures.
	left int
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
	t := r.newTable("Latency and cost: medians (least to largest)", "p50", "p99", "last proxy p99", "CPU", "peak RSS", "sound runs")
	if r.hasSLO() {
		t.head = append(t.head, "SLO")
	}
	for i := range r.Settings {
		o := &r.Settings[i]
		row := append(r.key(o), o.cell(LatencyP50), o.cellWithRange(LatencyP99), o.cell(LastProxyP99),
			o.cellWithRange(CPUSeconds), o.cell(PeakRSS), fmt.Sprintf("%d of %d", o.Valid, len(o.Runs)))
		if r.hasSLO() {
			row = append(row, o.sloCell())
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// work is the table of what the control plane did for it.
func (r *Report) work() table {
	t := r.newTable("Work", "debounce", "queue", "generation", "rounds", "changes per round", "pushes", "saved", "received", "NACKs", "undelivered")
	for i := range r.Settings {
		o := &r.Settings[i]
		t.rows = append(t.rows, append(r.key(o), o.cell(DebounceMean), o.cell(QueueMean), o.cell(PushMean), o.cell(Rounds), o.cell(MutationsPerRound),
			o.cell(Pushes), o.savedCell(), o.cell(BytesReceived), o.cell(Nacks), o.cell(Undelivered)))
	}
	return t
}

// newTable has a column for the marks and one per varied field before the figures.
func (r *Report) newTable(title string, figures ...string) table {
	head := []string{""}
	for _, v := range r.Plan.Vary {
		head = append(head, v.short())
	}
	return table{title: title, head: append(head, figures...), left: len(head)}
}

// key is a setting's cells in the columns of newTable.
func (r *Report) key(o *Outcome) []string {
	cells := []string{r.mark(o)}
	for _, v := range r.Plan.Vary {
		cells = append(cells, o.Values[v.Field])
	}
	if o.Base {
		cells[len(cells)-1] += " (as the profile)"
	}
	return cells
}

// table shows the parts of two settings' processor time side by side.
func (c *contrast) table() table {
	t := table{
		title: fmt.Sprintf("CPU by part: %s against %s", c.from.Name, c.to.Name),
		head:  []string{"", "part", "first", "share", "second", "share", "difference"},
		left:  2,
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

// cell writes a figure's median; "-" if it was not measured.
func (o *Outcome) cell(name string) string {
	f, ok := o.Figures[name]
	if !ok {
		return "-"
	}
	return report.Amount(f.Median, f.Unit)
}

// cellWithRange adds the least and the largest: "22 ms (21.7 to 22.4)".
func (o *Outcome) cellWithRange(name string) string {
	f, ok := o.Figures[name]
	if !ok || f.Min == f.Max {
		return o.cell(name)
	}
	middle, low, high := o.cell(name), report.Amount(f.Min, f.Unit), report.Amount(f.Max, f.Unit)
	if _, unit, ok := strings.Cut(middle, " "); ok && strings.HasSuffix(low, " "+unit) && strings.HasSuffix(high, " "+unit) {
		low, high = strings.TrimSuffix(low, " "+unit), strings.TrimSuffix(high, " "+unit)
	}
	return fmt.Sprintf("%s (%s to %s)", middle, low, high)
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
	if !r.Partial && r.Plan.Repeat < surelyRepeated {
		notes = append(notes, chance(r.Plan.Repeat))
	}
	return append(notes, r.Warnings...)
}

// surelyRepeated is from how many repeats on two equal settings seldom look
// different.
const surelyRepeated = 4

// chance says how often settings that do not differ have ranges that do not
// overlap: of all orders of 2n equal runs, those where one setting's n come first,
// or last.
func chance(n int) string {
	orders := combin.Binomial(2*n, n)
	if n == 1 {
		return "with a single run of each setting, no difference can be told from noise"
	}
	return fmt.Sprintf("with %d repeats, one comparison in %d of settings that do not differ looks like a difference; more repeats say more", n, orders/2)
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
		return fmt.Sprintf("FAIL  %s; %d without a sound run", text, bad)
	}
	return "DONE  " + text
}
