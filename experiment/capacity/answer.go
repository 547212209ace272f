package capacity

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of answer.
const (
	// exactly is a capacity between what was kept and what was broken.
	exactly = "found"
	// atLeast is a lower bound: the harness or the range ended first.
	atLeast = "at least"
	// below says that even the smallest load broke the SLO.
	below = "below"
	// unknown is the answer of a search that ended before it knew anything.
	unknown = "unknown"
)

// answer is what a search comes down to.
type answer struct {
	Kind string `json:"kind"`
	// Value is the capacity; for below, the smallest value that was tried.
	Value float64 `json:"value,omitempty"`
	// Text is one sentence, with the reason.
	Text string `json:"text"`
	// Low and High are the spread over the searches; nil with one search.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Soak says what the soak did; empty without one.
	Soak string `json:"soak,omitempty"`
}

// measured reports whether the value kept the SLO.
func (a *answer) measured() bool { return a != nil && (a.Kind == exactly || a.Kind == atLeast) }

// ErrSLO says that even the smallest load broke the SLO.
var ErrSLO = errors.New("even the smallest load broke the SLO (see the report)")

// Err returns an error if a search found no load that keeps the SLO.
func (r *Report) Err() error {
	switch {
	case r.Answer == nil:
	case r.Answer.Kind == unknown:
		return errors.New("the search has no answer (see the report)")
	case r.Answer.Kind == below && r.Answer.Value > r.Plan.Grow.From:
		return errors.New("no soak kept the SLO, and smaller loads were not soaked (see the report)")
	case r.Answer.Kind == below:
		return ErrSLO
	}
	return nil
}

// conclude draws the conclusion. finished is false if the search was interrupted.
func (o *outcome) conclude(p *Plan, finished bool) *answer {
	if len(o.Searches) == 0 {
		return &answer{Kind: unknown, Text: "no run was finished"}
	}
	searches, whole := o.whole(finished)
	middle := median(searches)
	a := middle.answer(p.Grow, whole, "")
	if len(searches) > 1 {
		low, high := searches[0].kept(), searches[0].kept()
		for _, b := range searches {
			low, high = min(low, b.kept()), max(high, b.kept())
		}
		a.Low, a.High = &low, &high
	}
	if o.Soak != nil {
		a.soaked(p, o.Soak)
	}
	return &a
}

// whole returns the searches that came to their end, and true; or the only one there
// is, and false. One that was interrupted may be far below its answer.
func (o *outcome) whole(finished bool) ([]bracket, bool) {
	n := len(o.Searches)
	switch {
	case finished || o.Soak != nil:
		return o.Searches, true
	case n > 1:
		return o.Searches[:n-1], true
	}
	return o.Searches, false
}

// answer is what one search comes down to; where is empty, or " in the soak".
func (b *bracket) answer(g Range, finished bool, where string) answer {
	why := strings.Join(b.Reasons, "; ")
	say := func(kind string, value float64, format string, args ...any) answer {
		return answer{Kind: kind, Value: value, Text: fmt.Sprintf(format, args...)}
	}
	switch {
	case b.Kept == nil && b.Above == nil:
		return say(unknown, 0, "no load was measured to the end")
	case b.Kept == nil && b.Verdict == saturated:
		return say(unknown, *b.Above, "unknown: the harness was saturated at the smallest load, %s: %s", g.setting(*b.Above), why)
	case b.Kept == nil:
		return say(below, *b.Above, "below %s, which broke the SLO already: %s", g.setting(*b.Above), why)
	case b.Above == nil && !finished:
		return say(atLeast, *b.Kept, "at least %s (the search was interrupted there)", g.setting(*b.Kept))
	case b.Above == nil:
		return say(atLeast, *b.Kept, "at least %s (the end of the range; the SLO was kept throughout)", g.setting(*b.Kept))
	case b.Verdict == saturated:
		return say(atLeast, *b.Kept, "at least %s (the harness was saturated%s at %s: %s)", g.setting(*b.Kept), where, g.text(*b.Above), why)
	}
	return say(exactly, *b.Kept, "%s keeps the SLO%s, %s does not: %s", g.setting(*b.Kept), where, g.text(*b.Above), why)
}

// soaked applies what the soak found.
func (a *answer) soaked(p *Plan, soak *bracket) {
	g, before := p.Grow, *a
	why := strings.Join(soak.Reasons, "; ")
	switch {
	case soak.Kept == nil && soak.Above == nil: // interrupted
		return
	case soak.Kept != nil && soak.Above == nil:
		a.Soak = fmt.Sprintf("confirmed by a soak of %s at %s", p.Soak.Duration, g.text(*soak.Kept))
		return
	case soak.Kept != nil:
		*a = soak.answer(g, true, " in the soak")
		a.Soak = fmt.Sprintf("lowered by the soak of %s, which kept the SLO at %s and not at %s: %s", p.Soak.Duration, g.text(*soak.Kept), g.text(*soak.Above), why)
	case soak.Verdict == saturated:
		*a = answer{Kind: unknown, Value: *soak.Above}
		a.Text = fmt.Sprintf("unknown: the harness was saturated in every soak down to %s: %s", g.setting(*soak.Above), why)
	default:
		*a = answer{Kind: below, Value: *soak.Above}
		a.Text = fmt.Sprintf("below %s: shorter runs kept the SLO up to %s, but no soak did: %s", g.setting(*soak.Above), g.text(before.Value), why)
	}
	a.Low, a.High = before.Low, before.High
	if soak.Kept == nil {
		a.Soak = fmt.Sprintf("not confirmed: the soak of %s failed down to %s: %s", p.Soak.Duration, g.text(*soak.Above), why)
	}
}
