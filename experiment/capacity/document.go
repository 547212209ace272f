package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
)

// Document puts the report in words, the answer first. dir, where it is saved, is
// named at the end unless it is empty.
func (r *Report) Document(dir string) *doc.Document {
	d := &doc.Document{Verdict: "SIZING", VerdictStyle: doc.Good, Title: "saved runs"}
	if r.Answer != nil {
		d.Verdict, d.Title, d.Headline = "CAPACITY", r.Plan.Base.Name, r.Answer.Text
		if r.Partial {
			d.Verdict, d.VerdictStyle = "PARTIAL", doc.Warn
		} else if !r.Answer.measured() {
			d.VerdictStyle = doc.Bad
		}
	}
	r.facts(d.Section(""))
	r.runs(d.Section("Runs"))
	r.model(d.Section("Model"))
	r.holdOut(d.Section("Hold-out check"))
	predictions(d.Section("Predicted"), r.Predictions)
	predictions(d.Section("Sizing"), r.Sizes)
	r.replica(d.Section("One replica"))
	r.notes(d.Section("Notes"))
	r.inputs(d.Detail("Inputs"))
	for _, f := range r.fits() {
		residuals(d.Detail("Residuals: "+f.Name).Table(), f)
	}
	d.Detail("Assumptions").List(r.Assumptions...)
	r.environment(d.Detail("Environment"))
	d.Detail("Commands").Code(strings.Join(r.Commands, "\n"))
	charts := d.Detail("Charts")
	for _, p := range r.plots() {
		charts.Figure(p.file, p.chart.Title)
	}
	files := d.Section("")
	if r.Partial && dir != "" {
		files.Pair("To continue", "repeat the command line with -o "+dir)
	}
	files.Pair("Files", dir)
	return d
}

// facts say what the answer rests on.
func (r *Report) facts(s *doc.Section) {
	if r.Answer == nil {
		s.Pair("Runs", units.Count(len(r.Points)))
		return
	}
	s.Pair("Soak", r.Answer.Soak)
	if r.Answer.Low != nil {
		g := r.Plan.Grow
		searches, _ := r.Outcome.whole(!r.Partial)
		s.Pair("Spread", fmt.Sprintf("%s kept the SLO up to %s to %s", units.Plural(len(searches), "search", "searches"), g.text(*r.Answer.Low), g.text(*r.Answer.High)))
	}
	if r.Limits.PushRate > 0 {
		s.Pair("Load", units.Amount(r.Limits.PushRate, "")+" pushes/s: mutations/s × proxies × pushes per mutation and proxy")
	}
	s.Pair("SLO", r.Plan.sloText())
}

// runs lists the runs of the search, and counts the others.
func (r *Report) runs(s *doc.Section) {
	if r.Outcome == nil {
		return
	}
	t := s.Table().Left("stage").Right(r.Plan.Grow.Field).Left("verdict").Right("p99", "CPU", "peak RSS", "pushes/s", "took")
	rows := 0
	add := func(b *bracket, prefix string) {
		for _, x := range b.Steps {
			rows++
			var p sizing.Point
			if i := slices.IndexFunc(r.Points, func(p sizing.Point) bool { return strings.HasSuffix(p.Run, x.Run) }); i >= 0 {
				p = r.Points[i]
			}
			t.Row(prefix+x.Stage, r.Plan.Grow.text(x.Value), string(x.Verdict), noted(figure(x.P99, "s"), x.P99Note), figure(p.Cores, "cores"), figure(p.PeakRSS, "bytes"),
				figure(positive(p.PushRate), ""), figure(positive(x.WallSeconds), "s"))
			t.Mark(2, map[loadVerdict]doc.Style{kept: doc.Good, broken: doc.Bad, saturated: doc.Warn}[x.Verdict])
		}
	}
	for i := range r.Outcome.Searches {
		prefix := ""
		if r.Plan.Repeat > 1 {
			prefix = strconv.Itoa(i+1) + ": "
		}
		add(&r.Outcome.Searches[i], prefix)
	}
	if r.Outcome.Soak != nil {
		add(r.Outcome.Soak, "")
	}
	if n := len(r.Points) - rows; n > 0 {
		s.Paragraph(fmt.Sprintf("and %s from other folders", units.Plural(n, "run", "runs")))
	}
}

// figure writes a figure that may be missing.
func figure(value *float64, unit string) string {
	if value == nil {
		return ""
	}
	return units.Amount(*value, unit)
}

// noted adds what qualifies a figure.
func noted(figure, note string) string {
	if note == "" {
		return figure
	}
	return figure + " (" + note + ")"
}

func positive(value float64) *float64 {
	if value <= 0 {
		return nil
	}
	return &value
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

func (r *Report) model(s *doc.Section) {
	for _, f := range r.fits() {
		s.Pair(f.Name, formula(f))
	}
	if u := r.Model.Latency; u != nil {
		text := fmt.Sprintf("N = 1 is %s %s, contention σ %s, coherency κ %s", units.Amount(u.Unit, ""), u.Load, units.Number(u.Contention), units.Number(u.Coherency))
		if u.Peak != nil {
			text += fmt.Sprintf(", throughput falls beyond %s %s", units.Amount(*u.Peak, ""), u.Load)
		}
		s.Pair("scalability law", text)
	}
	if len(r.fits()) > 0 {
		s.Paragraph("In parentheses and after ±: 95 % intervals. A push is one response received by one proxy.")
	}
}

// formula writes a fit.
func formula(f *sizing.Fit) string {
	var terms []string
	for _, c := range f.Coefficients {
		terms = append(terms, fmt.Sprintf("%s %s (%s)", units.Amount(c.Value, c.Unit), c.Term, units.Range(c.Low, c.High, c.Unit)))
	}
	text := strings.Join(terms, " + ") + "; "
	if len(terms) > 1 {
		text += fmt.Sprintf("R² %.4f, ", f.R2)
	}
	return text + fmt.Sprintf("largest error %s, %s", units.Percent(f.MaxRelativeError), units.Plural(len(f.Residuals), "run", "runs"))
}

func (r *Report) holdOut(s *doc.Section) {
	h := r.HoldOut
	if h == nil {
		return
	}
	s.Paragraph(fmt.Sprintf("Fitted on %s up to half of the size (%s up to %s), predicting %s at %s.",
		units.Plural(h.FittedRuns, "run", "runs"), h.Field, units.Amount(h.Half, ""), units.Plural(h.FullRuns, "run", "runs"), units.Amount(h.Full, "")))
	s.List(h.Notes...)
	t := s.Table().Left("").Right("predicted", "95 % interval", "measured", "error")
	for _, l := range h.Lines {
		t.Row(l.Name, units.Amount(l.Predicted.Value, l.Unit), units.Range(l.Predicted.Low, l.Predicted.High, l.Unit), units.Amount(l.Measured, l.Unit), units.Signed(units.Percent(l.Error)))
	}
}

func predictions(s *doc.Section, list []sizing.Prediction) {
	if slices.ContainsFunc(list, func(p sizing.Prediction) bool { return len(extrapolated(p)) > 0 }) {
		s.Paragraph("Beyond the runs the model extrapolates, and the intervals do not cover what may change there: measure nearer before relying on it.")
	}
	t := s.Table().Right("proxies × services", "mutations/s", "CPU", "memory", "p99", "connect CPU").Left("replicas", "beyond the runs")
	for _, p := range list {
		t.Row(units.Amount(p.Proxies, "")+" × "+units.Amount(p.Services, ""), units.Amount(p.Rate, ""),
			estimate(p.CPU, "cores"), estimate(p.Memory, "bytes"), estimate(p.P99, "s"), estimate(p.ConnectCPU, "s"),
			replicas(p.Replicas), strings.Join(extrapolated(p), ", "))
	}
}

// estimate writes a figure and how far its interval reaches up.
func estimate(e *sizing.Estimate, unit string) string {
	if e == nil {
		return "unknown"
	}
	return units.Margin(e.Value, e.High-e.Value, unit)
}

func replicas(r *sizing.Replicas) string {
	switch {
	case r == nil:
		return "unknown"
	case len(r.Impossible) > 0:
		return "impossible: the " + strings.Join(r.Impossible, ", ") + " of one proxy is above the limit"
	}
	text := strconv.Itoa(r.Count)
	switch {
	case r.High == 0:
		text += " or more"
	case r.High > r.Count:
		text += fmt.Sprintf(" to %d", r.High)
	}
	return text + " (" + r.Binding + ")"
}

// extrapolated names what a prediction extrapolates, and by which factor.
func extrapolated(p sizing.Prediction) []string {
	var all []string
	for _, e := range []*sizing.Estimate{p.CPU, p.Memory, p.P99, p.ConnectCPU} {
		if e == nil {
			continue
		}
		for _, b := range e.Extrapolated {
			if text := b.Quantity + " ×" + units.Amount(b.Factor, ""); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

func (r *Report) replica(s *doc.Section) {
	if len(r.Predictions)+len(r.Sizes) == 0 {
		return
	}
	l := r.Limits
	if l.CPU > 0 {
		s.Pair("CPU", units.Amount(l.CPU, "cores")+" ("+l.CPUFrom+")")
		s.Pair("memory", units.Bytes(l.Memory)+" ("+l.MemoryFrom+")")
	}
	if l.P99 > 0 {
		s.Pair("p99", "up to "+units.Duration(l.P99)+", as in the SLO")
	}
	if l.PushRate > 0 {
		s.Pair("load", units.Amount(l.PushRate, "")+" pushes/s, "+l.KneeFrom)
	}
}

// notes are what a reader must know before the answer and the model are used.
func (r *Report) notes(s *doc.Section) {
	each := func(label string, notes []string) {
		for _, n := range notes {
			s.Pair(label, n)
		}
	}
	if r.Outcome != nil {
		s.Pair("search", "a load that fails is run again, and counts as failed only if both runs fail")
		for _, b := range r.Outcome.Searches {
			each("search", b.Notes)
		}
		if r.Outcome.Soak != nil {
			each("soak", r.Outcome.Soak.Notes)
		}
	}
	for _, f := range r.fits() {
		each(f.Name, f.Notes)
	}
	each("model", r.Model.Notes)
	for _, l := range r.Model.LeftOut {
		s.Pair("left out", fmt.Sprintf("not in the fits of CPU and latency: %s: %s", l.Run, strings.Join(l.Reasons, "; ")))
	}
}

// inputs say what pushes and configuration are predicted from.
func (r *Report) inputs(s *doc.Section) {
	for _, f := range []*sizing.Fit{r.Model.BytesPerPush, r.Model.ConfigBytes} {
		if f != nil {
			s.Pair(f.Name, strings.Join(append([]string{formula(f)}, f.Notes...), "; "))
		}
	}
	for _, x := range r.Model.PushesPerMutation {
		s.Pair("pushes per mutation and proxy at "+units.Amount(x.Rate, "")+"/s", units.Number(x.Value))
	}
}

func residuals(t *doc.Table, f *sizing.Fit) {
	t.Code("run").Right("measured", "fitted", "error")
	for _, x := range f.Residuals {
		t.Row(x.Run, units.Amount(x.Measured, f.Unit), units.Amount(x.Fitted, f.Unit), units.Signed(units.Percent(x.Error)))
	}
}

func (r *Report) environment(s *doc.Section) {
	e := r.Environment
	if e == nil {
		return
	}
	s.Pair("machine", fmt.Sprintf("%s (%s), %s of memory, %s, kernel %s", units.Plural(e.CPUs, "CPU", "CPUs"), e.CPUModel, units.Bytes(e.Memory), e.OS, e.Kernel))
	s.Pair("target", e.Target)
	for _, name := range slices.Sorted(maps.Keys(e.Versions)) {
		s.Pair("version of "+name, e.Versions[name])
	}
}
