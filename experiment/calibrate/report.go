package calibrate

import (
	"fmt"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result"
)

// Report is what was injected against what was measured.
type Report struct {
	Schema      string              `json:"schema"`
	Pass        bool                `json:"pass"`
	Proxies     int                 `json:"proxies"`
	Lines       []Line              `json:"lines"`
	Environment *result.Environment `json:"environment,omitempty"`
	// Warnings say why a line may be off other than by a fault of the harness: a busy
	// machine, for the most part.
	Warnings []string `json:"warnings,omitempty"`
}

// Line compares one number. Times are seconds.
type Line struct {
	// Fault is what was injected, Figure which number of the result shows it.
	Fault  string `json:"fault"`
	Figure string `json:"figure"`
	// Unit is "s" for times and empty for counts.
	Unit     string  `json:"unit,omitempty"`
	Injected float64 `json:"injected"`
	Measured float64 `json:"measured"`
	// Tolerance is how far Measured may lie from Injected; counts must be equal.
	Tolerance float64 `json:"tolerance"`
	Pass      bool    `json:"pass"`
	// Problem says what is wrong where the numbers alone do not.
	Problem string `json:"problem,omitempty"`
}

func (r *Report) add(lines ...Line) {
	r.Lines = append(r.Lines, lines...)
	for _, l := range lines {
		r.Pass = r.Pass && l.Pass
	}
}

// Document puts the report in words.
func (r *Report) Document() *doc.Document {
	d := &doc.Document{Title: "calibration", Verdict: "PASS", VerdictStyle: doc.Good}
	t := d.Section("").Table().Left("injected fault", "figure").Right("injected", "measured", "difference").Left("allowed", "")
	notes := d.Section("Notes")
	passed := 0
	for _, l := range r.Lines {
		allowed, verdict, style := "exact", "FAIL", doc.Bad
		if l.Unit != "" {
			allowed = "± " + units.Amount(l.Tolerance, l.Unit)
		}
		if l.Pass {
			verdict, style = "pass", doc.Good
			passed++
		}
		t.Row(l.Fault, l.Figure, units.Amount(l.Injected, l.Unit), units.Amount(l.Measured, l.Unit),
			units.Signed(units.Amount(l.Measured-l.Injected, l.Unit)), allowed, verdict).Mark(6, style)
		if l.Problem != "" {
			notes.Pair("Problem", l.Fault+": "+l.Figure+": "+l.Problem)
		}
	}
	if passed < len(r.Lines) {
		d.Verdict, d.VerdictStyle = "FAIL", doc.Bad
	}
	d.Headline = fmt.Sprintf("%d of %s agree with what was injected; %s", passed, units.Plural(len(r.Lines), "figure", "figures"), units.Plural(r.Proxies, "proxy", "proxies"))
	for _, w := range r.Warnings {
		notes.Pair("Warning", w)
	}
	return d
}
