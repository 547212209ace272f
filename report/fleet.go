package report

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/xdsbench/xdsbench/result"
)

// Fleet writes a summary of a fleet that was kept connected without churn.
func Fleet(w io.Writer, r *result.Result) error {
	d := &document{}
	d.fact("Proxies", proxies(r.Proxies))
	d.fact("Sync", syncText(r.Sync))
	if r.Sync != nil && r.Sync.Volume != nil {
		d.fact("Received", received(r.Sync.Volume))
		d.table(volume(r.Sync.Volume))
	}
	d.fact("Answers", answers(r.Acks))
	d.fact("Misbehaviour", misbehaviour(r.Proxies))
	if c := r.Convergence; c != nil && c.StuckWarming != nil && *c.StuckWarming > 0 {
		d.fact("Stuck", count(*c.StuckWarming)+" endpoints or routes did not arrive in time")
	}
	d.notes = append(d.notes, reasons(r)...)
	for _, warning := range r.Warnings {
		d.notes = append(d.notes, fact{"Warning", warning})
	}
	t := &textWriter{}
	t.body(d)
	_, err := w.Write(t.out.Bytes())
	return err
}

// received sums up all that was sent.
func received(v *result.Volume) string {
	var sum result.Traffic
	for _, t := range v.ByType {
		sum.Responses += t.Responses
		sum.Bytes += t.Bytes
	}
	text := fmt.Sprintf("%s, %s", plural(sum.Responses, "response", "responses"), size(float64(sum.Bytes)))
	if v.WireBytes != nil {
		text += fmt.Sprintf("; %s in and %s out on the wire", size(float64(v.WireBytes.In)), size(float64(v.WireBytes.Out)))
	}
	return text
}

// reasons lists why connections failed and why responses were rejected.
func reasons(r *result.Result) []fact {
	var notes []fact
	add := func(label string, counts map[string]int64) {
		for _, reason := range slices.Sorted(maps.Keys(counts)) {
			notes = append(notes, fact{label, fmt.Sprintf("%s times: %s", count(counts[reason]), reason)})
		}
	}
	if r.Proxies != nil {
		add("Failure", r.Proxies.Failures)
	}
	if r.Acks != nil {
		add("NACK", r.Acks.Reasons)
	}
	return notes
}

// misbehaviour writes what proxies did on purpose.
func misbehaviour(p *result.Proxies) string {
	if p == nil {
		return ""
	}
	text := ""
	for _, name := range slices.Sorted(maps.Keys(p.Misbehaviour)) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s %s", name, count(p.Misbehaviour[name]))
	}
	return text
}
