package sweep

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/file"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result"
)

// The report's files in a sweep's folder, beside charts and merged profiles.
const (
	reportFile   = "report.json"
	markdownFile = "report.md"
)

// Files writes the report, its charts and the merged profiles into the sweep's
// folder.
func (r *Report) Files(dir string) error {
	errs := []error{
		file.WriteJSON(filepath.Join(dir, reportFile), r),
		file.Write(filepath.Join(dir, markdownFile), r.Document("").Markdown),
		r.mergeProfiles(dir),
	}
	for _, c := range r.charts() {
		errs = append(errs, file.Write(filepath.Join(dir, c.file), c.chart.SVG))
	}
	return errors.Join(errs...)
}

// Document is the report for people. dir is where the sweep is saved, if the document
// is to be read elsewhere.
func (r *Report) Document(dir string) *doc.Document {
	d := &doc.Document{Title: "Sweep of " + r.Profile}
	r.conclude(d)
	advice := d.Section("Advice")
	advice.Paragraph(r.Advice.Text)
	advice.List(r.Advice.Reasons...)
	r.latencyAndCost(d.Section("Latency and cost: medians (least to largest)").Table())
	r.work(d.Section("Work").Table())
	d.Section("Pareto front").List(r.frontNames()...)
	charts := d.Detail("Charts")
	for _, c := range r.charts() {
		charts.Figure(c.file, c.chart.Title)
	}
	if c := r.contrasted(dir); c != nil {
		c.describe(d.Section(fmt.Sprintf("CPU by part: %s against %s", c.from.Name, c.to.Name)))
	}
	d.Section("Notes").List(r.notes()...)
	d.Detail("Assumptions").List(r.Assumptions...)
	if r.Environment != nil {
		d.Detail("Environment").List(machine(r.Environment)...)
	}
	again := d.Detail("To run it again")
	again.Paragraph("In this folder, with relative paths of programs and kubeconfigs made absolute:")
	again.Code(r.Commands[0])
	again.Paragraph("One setting alone:")
	again.Code(strings.Join(r.Commands[1:], "\n"))
	if dir != "" {
		d.Section("").Pair("Files", fmt.Sprintf("%s (%s, %s, charts)", dir, markdownFile, reportFile))
	}
	return d
}

// conclude sets the verdict and the sentence after it.
func (r *Report) conclude(d *doc.Document) {
	done, all, invalid := 0, 0, len(r.Failed())
	for i := range r.Settings {
		done += r.Settings[i].count(finished)
		all += len(r.Settings[i].Runs)
	}
	d.Verdict, d.VerdictStyle = "DONE", doc.Good
	d.Headline = fmt.Sprintf("%s, %d of %s finished", units.Plural(len(r.Settings), "setting", "settings"), done, units.Plural(all, "run", "runs"))
	switch {
	case r.Partial:
		d.Verdict, d.VerdictStyle = "PARTIAL", doc.Warn
	case invalid > 0:
		d.Verdict, d.VerdictStyle = "FAIL", doc.Bad
		d.Headline += fmt.Sprintf("; %d without a valid run", invalid)
	}
}

// latencyAndCost is the table that settings are chosen from.
func (r *Report) latencyAndCost(t *doc.Table) {
	r.keys(t).Right("p50", "p99", "last proxy p99", "CPU", "peak RSS", "valid runs").Left("SLO", "")
	slo := len(r.Plan.Vary) + 6
	for i := range r.Settings {
		o := &r.Settings[i]
		kept, keptStyle := r.slo(o)
		status, statusStyle := r.status(o)
		t.Row(append(r.key(o), o.cell(latencyP50), o.cellWithRange(latencyP99), o.cell(lastProxyP99), o.cellWithRange(cpuSeconds),
			o.cell(peakRSS), fmt.Sprintf("%d of %d", o.Valid, len(o.Runs)), kept, status)...).Mark(slo, keptStyle).Mark(slo+1, statusStyle)
	}
}

// work is the table of what the control plane did for it.
func (r *Report) work(t *doc.Table) {
	r.keys(t).Right("debounce", "queue", "generation", "rounds", "changes per round", "pushes", "saved", "received", "NACKs", "undelivered")
	for i := range r.Settings {
		o := &r.Settings[i]
		saved := ""
		if f, ok := o.Figures[pushesSaved]; ok {
			saved = units.Percent(f.Median)
		}
		t.Row(append(r.key(o), o.cell(debounceMean), o.cell(queueMean), o.cell(pushMean), o.cell(debounceRounds), o.cell(mutationsPerRound),
			o.cell(pushes), saved, o.cell(bytesReceived), o.cell(nacks), o.cell(undelivered))...)
	}
}

// keys adds a column per varied field.
func (r *Report) keys(t *doc.Table) *doc.Table {
	for _, v := range r.Plan.Vary {
		t.Left(v.shortName())
	}
	return t
}

// key is a setting's cells in the columns of keys.
func (r *Report) key(o *Outcome) []string {
	var cells []string
	for _, v := range r.Plan.Vary {
		cells = append(cells, o.Values[v.Field])
	}
	if o.Base {
		cells[len(cells)-1] += " (as the profile)"
	}
	return cells
}

// cell writes a figure's median, and its note: "22 ms (max of 60)"; nothing if it was
// not measured.
func (o *Outcome) cell(name string) string { return o.cellWith(name, "") }

// cellWithRange adds the least and the largest: "22 ms (21.7 to 22.4 ms)".
func (o *Outcome) cellWithRange(name string) string {
	f := o.Figures[name]
	if f.Min == f.Max {
		return o.cell(name)
	}
	return o.cellWith(name, units.Range(f.Min, f.Max, f.Unit))
}

func (o *Outcome) cellWith(name, more string) string {
	f, ok := o.Figures[name]
	if !ok {
		return ""
	}
	text := units.Amount(f.Median, f.Unit)
	if more = strings.Trim(more+", "+f.Note, ", "); more != "" {
		text += " (" + more + ")"
	}
	return text
}

// slo says whether a setting kept its SLO, if there is one.
func (r *Report) slo(o *Outcome) (string, doc.Style) {
	switch {
	case !r.hasSLO() || !o.has(finished):
		return "", doc.Plain
	case len(o.MissedSLO) > 0:
		return "missed", doc.Bad
	}
	return "kept", doc.Good
}

// status is what to know of a setting before its figures are used; see notes.
func (r *Report) status(o *Outcome) (string, doc.Style) {
	switch {
	case o.Valid == 0 && len(o.Failures) > 0:
		return "failed", doc.Bad
	case !o.valid() && (o.has(finished) || o.has(failed)):
		return "questionable", doc.Warn
	case o.Noisy:
		return "noisy", doc.Warn
	case slices.Contains(r.Front, o.ID):
		return "on the front", doc.Good
	}
	return "", doc.Plain
}

// frontNames are the settings on the front with their two figures, and whether one
// differs from the one before by noise alone.
func (r *Report) frontNames() []string {
	var names []string
	var before *Outcome
	for _, id := range r.Front {
		o := r.find(id)
		name := fmt.Sprintf("%s: p99 %s for CPU %s", o.Name, o.cell(latencyP99), o.cell(cpuSeconds))
		if before != nil && o.p99().overlaps(before.p99()) && o.cpu().overlaps(before.cpu()) {
			name += " (within noise of the one before)"
		}
		names, before = append(names, name), o
	}
	return names
}

// notes are the reasons for what the tables say of settings, one line each.
func (r *Report) notes() []string {
	var notes []string
	for i := range r.Settings {
		o := &r.Settings[i]
		add := func(format string, args ...any) { notes = append(notes, o.Name+": "+fmt.Sprintf(format, args...)) }
		for _, f := range o.Failures {
			add("failed: %s", strings.ReplaceAll(f, "\n", "; "))
		}
		for _, why := range o.Questionable {
			add("questionable: %s", why)
		}
		if o.Noisy {
			add("noisy: the p99 spans %s of its median over the repeats", units.Percent(o.p99().spread()))
		}
		if len(o.MissedSLO) > 0 {
			add("misses the SLO: %s", strings.Join(o.MissedSLO, ", "))
		}
		if n := o.count(missing); n > 0 {
			add("%d of %d runs are still to be made", n, len(o.Runs))
		}
	}
	if !r.Partial && r.Plan.Repeat < enoughRepeats {
		notes = append(notes, chance(r.Plan.Repeat))
	}
	return append(notes, r.Warnings...)
}

// enoughRepeats is from how many repeats on two equal settings seldom look
// different.
const enoughRepeats = 4

// chance says how often settings that do not differ have ranges that do not
// overlap: of all orders of 2n equal runs, those where one setting's n come first,
// or last.
func chance(n int) string {
	if n == 1 {
		return "With a single run of each setting, no difference can be told from noise."
	}
	return fmt.Sprintf("With %d repeats, one in %d comparisons of equal settings looks like a difference by chance; more repeats make that rarer.",
		n, combin.Binomial(2*n, n)/2)
}

// describe shows the parts of two settings' processor time side by side.
func (c *contrast) describe(s *doc.Section) {
	t := s.Table().Left("part").Right("first", "share", "second", "share", "difference")
	for _, name := range c.parts {
		a, b := c.a.Parts[name], c.b.Parts[name]
		t.Row(name, units.Amount(a.Amount, c.a.Unit), units.Percent(a.Share), units.Amount(b.Amount, c.b.Unit), units.Percent(b.Share),
			units.Signed(units.Amount(b.Amount-a.Amount, c.a.Unit)))
	}
	s.Paragraph(c.caveat())
	s.Paragraph("By function (the profiles are summed over the runs):")
	s.Code(c.diffCommand)
}

// machine says where the runs were made.
func machine(e *result.Environment) []string {
	lines := []string{
		fmt.Sprintf("machine: %s, %s, GOMAXPROCS %d, %s %s", e.CPUModel, units.Plural(e.CPUs, "CPU", "CPUs"), e.GOMAXPROCS, e.OS, e.Kernel),
		"target: " + e.Target,
	}
	for _, name := range sortedKeys(e.Versions) {
		lines = append(lines, name+" "+e.Versions[name])
	}
	return lines
}
