package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/internal/units"
)

// Advice is which setting to take, and why.
type Advice struct {
	// Setting is the ID of the setting to take; empty if there is no advice.
	Setting string `json:"setting,omitempty"`
	// Text is the advice, or why there is none, in a sentence.
	Text string `json:"text"`
	// Reasons are the trade-offs that it rests on.
	Reasons []string `json:"reasons,omitempty"`
}

// advise draws the advice: under an SLO the cheapest setting that keeps it in every
// repeat, without one the front's knee.
func (r *Report) advise() Advice {
	if field := r.Plan.variedLoad(); field != "" {
		return Advice{Text: "None: " + field + " changes the load, and settings under different load are not alternatives. Compare those of one load in the table, or sweep each load by itself."}
	}
	candidates, none := r.candidates()
	if len(candidates) == 0 {
		return Advice{Text: none}
	}
	var a Advice
	if r.hasSLO() {
		a = r.adviseBySLO(candidates)
	} else {
		a = r.adviseByFront(candidates)
	}
	if left := len(r.Settings) - len(candidates); left > 0 {
		a.Reasons = append(a.Reasons, fmt.Sprintf("%d of %d settings were left out: questionable, noisy, or too few repeats (see their notes)", left, len(r.Settings)))
	}
	if r.Partial {
		a.Reasons = append(a.Reasons, "the sweep is not finished: this may change")
	}
	return a
}

// candidates returns the settings whose repeats are enough, and close enough, for
// advice, and, if there are none, why.
func (r *Report) candidates() (all []*Outcome, none string) {
	few, noisy := false, false
	for _, o := range r.conclusive() {
		switch {
		case o.Valid < minRepeats:
			few = true
		case o.Noisy:
			noisy = true
		default:
			all = append(all, o)
		}
	}
	switch {
	case few:
		none = fmt.Sprintf("None: too few repeats; advice needs at least %d valid runs of a setting (--repeat).", minRepeats)
	case noisy:
		none = fmt.Sprintf("None: too noisy; the p99 of every setting spans more than %s of its median over the repeats. Use a quieter machine, a longer steady phase or more repeats.", units.Percent(noisyAbove))
	default:
		none = "None: no setting has runs that conclusions can be drawn from."
	}
	return all, none
}

// hasSLO reports whether the profile of any setting has an SLO.
func (r *Report) hasSLO() bool {
	return len(r.Plan.Base.SLO) > 0 || slices.ContainsFunc(r.Plan.Vary, func(v Vary) bool { return strings.HasPrefix(v.Field, "slo.") })
}

func (r *Report) adviseBySLO(candidates []*Outcome) Advice {
	var kept []*Outcome
	missedBy := make(map[string]int)
	for _, o := range candidates {
		if len(o.MissedSLO) == 0 {
			kept = append(kept, o)
		}
		for _, metric := range o.MissedSLO {
			missedBy[metric]++
		}
	}
	if len(kept) == 0 {
		a := Advice{Text: "None: no setting kept the SLO in every repeat."}
		for _, metric := range sortedKeys(missedBy) {
			a.Reasons = append(a.Reasons, fmt.Sprintf("%s was missed by %d of %d settings", metric, missedBy[metric], len(candidates)))
		}
		fastest := slices.MinFunc(candidates, func(a, b *Outcome) int { return cmp.Compare(a.p99().Median, b.p99().Median) })
		a.Reasons = append(a.Reasons, fmt.Sprintf("the fastest is %s: p99 %s", fastest.Name, fastest.cell(latencyP99)))
		return a
	}
	slices.SortStableFunc(kept, byCPU)
	best := kept[0]
	a := Advice{
		Setting: best.ID, Reasons: r.compare(best, candidates),
		Text: fmt.Sprintf("Take %s: it keeps the SLO in all %d repeats for the least CPU, %s.", best.Name, best.Valid, best.cell(cpuSeconds)),
	}
	for _, o := range kept[1:] {
		if o.cpu().overlaps(best.cpu()) && o.p99().Median < best.p99().Median && !o.p99().overlaps(best.p99()) {
			a.Reasons = append(a.Reasons, fmt.Sprintf("%s costs the same within noise, and is faster: %s", o.Name, trade(best, o)))
		}
	}
	return a
}

// compare gives the trade-off between the base setting and the best one or, where the
// base setting is no candidate, between the best one and its neighbours in processor
// time.
func (r *Report) compare(best *Outcome, candidates []*Outcome) []string {
	for _, o := range candidates {
		if o.Base && o != best {
			return []string{r.step(o, best) + " (from the profile as it is)"}
		}
	}
	sorted := slices.SortedStableFunc(slices.Values(candidates), byCPU)
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
		reasons = append(reasons, r.step(best, sorted[i+1])+" (the next more expensive setting)")
	}
	return reasons
}

func (r *Report) adviseByFront(candidates []*Outcome) Advice {
	if len(candidates) > 1 && alike(candidates) {
		return Advice{Text: "None: no two settings differ beyond noise in p99 or CPU. Does the field have any effect? See target.log of a run."}
	}
	line := front(candidates)
	if len(line) == 1 {
		return Advice{
			Setting: line[0].ID, Reasons: r.compare(line[0], candidates),
			Text: fmt.Sprintf("Take %s: no other setting is faster or cheaper (the profile has no SLO).", line[0].Name),
		}
	}
	a := Advice{Text: "The profile has no SLO, so how much CPU a lower latency is worth is your decision (set one with --set slo.propagation.all.p99=500ms). The choice is along the front."}
	if best := knee(line); best != nil {
		a.Setting = best.ID
		a.Text = fmt.Sprintf("The profile has no SLO; by the shape of the front take %s: beyond it, more CPU buys less latency.", best.Name)
	}
	for i := range line[1:] {
		a.Reasons = append(a.Reasons, r.step(line[i], line[i+1]))
	}
	return a
}

// alike reports whether no two settings differ beyond noise, in latency or in cost.
func alike(all []*Outcome) bool {
	return !slices.ContainsFunc(all, func(a *Outcome) bool {
		return slices.ContainsFunc(all, func(b *Outcome) bool {
			return !a.p99().overlaps(b.p99()) || !a.cpu().overlaps(b.cpu())
		})
	})
}

// step names what changes from one setting to another and what that brings:
// "GOGC 100 -> 50: p99 -60 % (...), CPU +18 % (...)".
func (r *Report) step(from, to *Outcome) string {
	var changes []string
	for _, v := range r.Plan.Vary {
		if a, b := from.Values[v.Field], to.Values[v.Field]; a != b {
			changes = append(changes, fmt.Sprintf("%s %s -> %s", v.shortName(), a, b))
		}
	}
	return strings.Join(changes, ", ") + ": " + trade(from, to)
}

func trade(from, to *Outcome) string {
	return "p99 " + change(from.p99(), to.p99()) + ", CPU " + change(from.cpu(), to.cpu())
}

// change says by how much a figure differs, and whether that is noise. Large changes
// are given as a factor.
func change(from, to Figure) string {
	values := fmt.Sprintf("%s to %s", units.Amount(from.Median, from.Unit), units.Amount(to.Median, to.Unit))
	if from.overlaps(to) {
		return "within noise (" + values + ")"
	}
	switch ratio := to.Median / from.Median; {
	case from.Median == 0:
		return values
	case ratio >= 3:
		return fmt.Sprintf("x%s (%s)", units.Number(ratio), values)
	default:
		return fmt.Sprintf("%s (%s)", units.Signed(units.Percent(ratio-1)), values)
	}
}
