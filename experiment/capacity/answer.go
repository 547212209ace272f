package capacity

import (
	"fmt"
	"strings"
)

// The kinds of answer.
const (
	// Exactly is a capacity between what was kept and what was broken.
	Exactly = "found"
	// AtLeast is a lower bound: the harness gave out, or the range ended.
	AtLeast = "at least"
	// Below says that even the smallest load broke the SLO.
	Below = "below"
	// Unknown is the answer of a search that was cut short too early.
	Unknown = "unknown"
)

// Answer is what a search comes down to.
type Answer struct {
	Kind string `json:"kind"`
	// Value is the capacity; for Below, the smallest value that was tried.
	Value float64 `json:"value,omitempty"`
	// Text is one sentence, with the reason.
	Text string `json:"text"`
	// Low and High are the spread over the searches; nil with one search.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Soak says what the soak did; empty without one.
	Soak string `json:"soak,omitempty"`
}

// answer draws the conclusion. finished is false if the search was cut short.
func answer(p *Plan, o *Outcome, finished bool) Answer {
	if len(o.Searches) == 0 {
		return Answer{Kind: Unknown, Text: "no run was finished"}
	}
	searches, whole := o.whole(finished)
	found := median(searches)
	a := found.answer(p.Grow, whole)
	if len(searches) > 1 {
		a.spread(searches)
	}
	if o.Soak != nil {
		a.soaked(p, o.Soak)
	}
	return a
}

// whole returns the searches that came to their end, and true; or the only one there
// is, and false. One that was cut short may be far below its answer.
func (o *Outcome) whole(finished bool) ([]Found, bool) {
	n := len(o.Searches)
	switch {
	case finished || o.Soak != nil:
		return o.Searches, true
	case n > 1:
		return o.Searches[:n-1], true
	}
	return o.Searches, false
}

func (f Found) answer(g Range, finished bool) Answer {
	why := strings.Join(f.Reasons, "; ")
	switch {
	case f.Kept == nil && f.Above == nil:
		return Answer{Kind: Unknown, Text: "no load was measured to the end"}
	case f.Kept == nil && f.Verdict == Saturated:
		return Answer{Kind: Unknown, Value: *f.Above, Text: fmt.Sprintf("unknown: the harness saturated at the smallest load, %s: %s", g.setting(*f.Above), why)}
	case f.Kept == nil:
		return Answer{Kind: Below, Value: *f.Above, Text: fmt.Sprintf("below %s: the SLO broke there already: %s", g.setting(*f.Above), why)}
	case f.Above == nil && !finished:
		return Answer{Kind: AtLeast, Value: *f.Kept, Text: fmt.Sprintf("at least %s (the search was cut short there)", g.setting(*f.Kept))}
	case f.Above == nil:
		return Answer{Kind: AtLeast, Value: *f.Kept, Text: fmt.Sprintf("at least %s (the range ended there; the SLO was kept all the way)", g.setting(*f.Kept))}
	case f.Verdict == Saturated:
		return Answer{Kind: AtLeast, Value: *f.Kept, Text: fmt.Sprintf("at least %s (the harness saturated at %s: %s)", g.setting(*f.Kept), g.text(*f.Above), why)}
	}
	return Answer{Kind: Exactly, Value: *f.Kept, Text: fmt.Sprintf("%s keeps the SLO, %s does not: %s", g.setting(*f.Kept), g.text(*f.Above), why)}
}

// spread notes the smallest and the largest value that was kept. A search that
// kept none counts as zero.
func (a *Answer) spread(all []Found) {
	for _, f := range all {
		kept := 0.0
		if f.Kept != nil {
			kept = *f.Kept
		}
		if a.Low == nil || kept < *a.Low {
			a.Low = &kept
		}
		if a.High == nil || kept > *a.High {
			a.High = &kept
		}
	}
}

// soaked applies what the soak found.
func (a *Answer) soaked(p *Plan, soak *Found) {
	g := p.Grow
	why := strings.Join(soak.Reasons, "; ")
	switch {
	case soak.Kept != nil && soak.Above == nil:
		a.Soak = fmt.Sprintf("confirmed by a soak of %s at %s", p.Soak.Duration, g.text(*soak.Kept))
	case soak.Kept != nil:
		a.Soak = fmt.Sprintf("lowered by the soak of %s, which kept the SLO at %s and not at %s: %s", p.Soak.Duration, g.text(*soak.Kept), g.text(*soak.Above), why)
		a.Text = fmt.Sprintf("%s keeps the SLO in the soak, %s does not: %s", g.setting(*soak.Kept), g.text(*soak.Above), why)
		a.Value, a.Kind = *soak.Kept, Exactly
		if soak.Verdict == Saturated {
			a.Kind = AtLeast
			a.Text = fmt.Sprintf("at least %s (the harness saturated in the soak at %s: %s)", g.setting(*soak.Kept), g.text(*soak.Above), why)
		}
	case soak.Above != nil:
		a.Soak = fmt.Sprintf("not confirmed: the soak of %s broke down to %s: %s", p.Soak.Duration, g.text(*soak.Above), why)
		a.Text = fmt.Sprintf("below %s: shorter runs kept the SLO up to %s, but no soak did: %s", g.setting(*soak.Above), g.text(a.Value), why)
		a.Value, a.Kind = *soak.Above, Below
		if soak.Verdict == Saturated {
			a.Kind = Unknown
			a.Text = fmt.Sprintf("unknown: the harness saturated in every soak down to %s: %s", g.setting(*soak.Above), why)
		}
	}
}
