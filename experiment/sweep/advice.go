package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/report"
)

// Advice is which setting to take, and why.
type Advice struct {
	// Setting is the ID of the setting to take; empty if there is no advice.
	Setting string `json:"setting,omitempty"`
	// Text is the advice, or why there is none, in a sentence.
	Text string `json:"text"`
	// Reasons are the trades that it rests on.
	Reasons []string `json:"reasons,omitempty"`
}

// advise draws the advice: under an SLO the cheapest setting that keeps it in every
// repeat, without one the front's knee.
func (r *Report) advise() Advice {
	if field := r.Plan.variedLoad(); field != "" {
		return Advice{Text: "none: " + field + " changes the load, and settings under different load are no alternatives: compare those of one load in the table, or sweep each load by itself"}
	}
	told, why := r.told()
	if len(told) == 0 {
		return Advice{Text: why}
	}
	var a Advice
	if r.hasSLO() {
		a = r.underSLO(told)
	} else {
		a = r.withoutSLO(told)
	}
	if left := len(r.Settings) - len(told); left > 0 {
		a.Reasons = append(a.Reasons, fmt.Sprintf("%d of %d settings were left out: doubts, noise, or too few repeats (see their notes)", left, len(r.Settings)))
	}
	if r.Partial {
		a.Reasons = append(a.Reasons, "the sweep is not finished: this may change")
	}
	return a
}

// told returns the settings whose repeats are enough, and close enough, for advice,
// and, if there is none, why.
func (r *Report) told() (told []*Outcome, why string) {
	few, noisy := 0, 0
	for i := range r.Settings {
		o := &r.Settings[i]
		switch {
		case !o.sound() || !o.weighable():
		case o.Valid < minRepeats:
			few++
		case o.Noisy:
			noisy++
		default:
			told = append(told, o)
		}
	}
	switch {
	case few > 0:
		why = fmt.Sprintf("too few repeats to tell: advice needs %d sound ones of a setting (--repeat)", minRepeats)
	case noisy > 0:
		why = fmt.Sprintf("too noisy to tell: the p99 of every setting spans more than %.0f %% of its median over the repeats; use a quieter machine, a longer steady phase or more repeats", 100*noisyAbove)
	default:
		why = "none: no setting has runs that conclusions can be drawn from"
	}
	return told, why
}

func (r *Report) variesSLO() bool {
	return slices.ContainsFunc(r.Plan.Vary, func(v Vary) bool { return strings.HasPrefix(v.Field, "slo.") })
}

func byCPU(a, b *Outcome) int { return cmp.Compare(a.cpu().Median, b.cpu().Median) }

func (r *Report) underSLO(told []*Outcome) Advice {
	var kept []*Outcome
	missedBy := make(map[string]int)
	for _, o := range told {
		if len(o.MissedSLO) == 0 {
			kept = append(kept, o)
		}
		for _, metric := range o.MissedSLO {
			missedBy[metric]++
		}
	}
	if len(kept) == 0 {
		fastest := slices.MinFunc(told, func(a, b *Outcome) int { return cmp.Compare(a.p99().Median, b.p99().Median) })
		a := Advice{Text: "none: no setting kept the SLO in every repeat"}
		for _, metric := range sortedKeys(missedBy) {
			a.Reasons = append(a.Reasons, fmt.Sprintf("%s was missed by %d of %d settings", metric, missedBy[metric], len(told)))
		}
		a.Reasons = append(a.Reasons, fmt.Sprintf("the fastest is %s: p99 %s", fastest.Name, report.Amount(fastest.p99().Median, "s")))
		return a
	}
	slices.SortStableFunc(kept, byCPU)
	best := kept[0]
	a := Advice{Setting: best.ID, Text: fmt.Sprintf("take %s: it keeps the SLO in all %d repeats for the least CPU, %s", best.Name, best.Valid, report.Amount(best.cpu().Median, "s"))}
	a.Reasons = r.compare(best, told)
	for _, o := range kept[1:] {
		if o.cpu().overlaps(best.cpu()) && o.p99().Median < best.p99().Median && !o.p99().overlaps(best.p99()) {
			a.Reasons = append(a.Reasons, fmt.Sprintf("%s costs the same within noise, and is faster: %s", o.Name, trade(best, o)))
		}
	}
	return a
}

// compare gives the trade from the base setting to the best one or, where that is
// not told of, from the best one to its neighbours in processor time.
func (r *Report) compare(best *Outcome, told []*Outcome) []string {
	for _, o := range told {
		if o.Base && o != best {
			return []string{r.step(o, best) + " (from the profile as it is)"}
		}
	}
	sorted := slices.SortedStableFunc(slices.Values(told), byCPU)
	i := slices.Index(sorted, best)
	var reasons []string
	if i > 0 {
		cheaper := r.step(sorted[i-1], best)
		if missed := sorted[i-1].MissedSLO; len(missed) > 0 {
			cheaper += "; the cheaper one misses " + strings.Join(missed, ", ")
		}
		reasons = append(reasons, cheaper)
	}
	if i+1 < len(sorted) {
		reasons = append(reasons, r.step(best, sorted[i+1])+" (the next dearer one)")
	}
	return reasons
}

func (r *Report) withoutSLO(told []*Outcome) Advice {
	if len(told) > 1 && alike(told) {
		return Advice{Text: "none: no two settings differ beyond noise in p99 or CPU (has the field any effect? see target.log of a run)"}
	}
	var line []*Outcome
	for _, o := range front(outcomes(told)) {
		line = append(line, r.find(o.ID))
	}
	var a Advice
	switch best := knee(line); {
	case len(line) == 1:
		a.Setting = line[0].ID
		a.Text = fmt.Sprintf("take %s: no other setting is faster or cheaper (the profile has no SLO)", line[0].Name)
		a.Reasons = r.compare(line[0], told)
		return a
	case best == nil:
		a.Text = "the profile has no SLO, so which latency is worth which CPU is yours to say (set one with --set slo.propagation.all.p99=500ms): the choice is along the front"
	default:
		a.Setting = best.ID
		a.Text = fmt.Sprintf("the profile has no SLO; by the front's shape take %s: beyond it, more CPU buys less latency", best.Name)
	}
	for i := range line[1:] {
		a.Reasons = append(a.Reasons, r.step(line[i], line[i+1]))
	}
	return a
}

// alike reports whether no two settings differ beyond noise, in latency or in cost.
func alike(told []*Outcome) bool {
	return !slices.ContainsFunc(told, func(a *Outcome) bool {
		return slices.ContainsFunc(told, func(b *Outcome) bool {
			return !a.p99().overlaps(b.p99()) || !a.cpu().overlaps(b.cpu())
		})
	})
}

func outcomes(all []*Outcome) []Outcome {
	out := make([]Outcome, len(all))
	for i, o := range all {
		out[i] = *o
	}
	return out
}

// step names what changes from one setting to another and what that brings:
// "GOGC 100 -> 50: p99 -60 % (...), CPU +18 % (...)".
func (r *Report) step(from, to *Outcome) string {
	var changes []string
	for _, v := range r.Plan.Vary {
		if a, b := from.Values[v.Field], to.Values[v.Field]; a != b {
			changes = append(changes, fmt.Sprintf("%s %s -> %s", v.short(), a, b))
		}
	}
	return strings.Join(changes, ", ") + ": " + trade(from, to)
}

func trade(from, to *Outcome) string {
	return "p99 " + change(from.p99(), to.p99()) + ", CPU " + change(from.cpu(), to.cpu())
}

// change says by how much a figure differs, and whether that is noise.
func change(from, to Figure) string {
	values := fmt.Sprintf("%s to %s", report.Amount(from.Median, from.Unit), report.Amount(to.Median, to.Unit))
	switch {
	case from.overlaps(to):
		return "within noise (" + values + ")"
	case from.Median == 0:
		return values
	}
	return fmt.Sprintf("%s (%s)", percent(to.Median/from.Median-1), values)
}

// percent writes a relative change with its sign; large ones as a factor.
func percent(x float64) string {
	if x >= 2 {
		return "x" + report.Amount(math.Round((1+x)*10)/10, "")
	}
	return fmt.Sprintf("%+.0f %%", 100*x)
}
