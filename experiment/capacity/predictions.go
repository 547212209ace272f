package capacity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
)

func (r *Report) holdOutSection() section {
	h := r.HoldOut
	if h == nil {
		return section{}
	}
	s := section{title: "Hold-out check", lines: []string{fmt.Sprintf("fitted on %d runs up to half of the size (%s up to %s), predicting %d at %s",
		h.FittedRuns, h.Field, count(h.Half), h.FullRuns, count(h.Full))}}
	s.lines = append(s.lines, h.Notes...)
	s.table = [][]string{{"", "predicted", "95 % interval", "measured", "error"}}
	for _, l := range h.Lines {
		s.table = append(s.table, []string{l.Name, amount(l.Predicted.Value, l.Unit), interval(&l.Predicted, l.Unit), amount(l.Measured, l.Unit), signed(l.Error)})
	}
	return s
}

func (r *Report) predictionSection(title string, list []sizing.Prediction) section {
	s := section{title: title, table: [][]string{{"proxies × services", "mutations/s", "CPU cores", "memory", "p99", "connect CPU", "replicas", "beyond the runs"}}}
	beyond := false
	for _, p := range list {
		out := outside(p)
		beyond = beyond || out != ""
		s.table = append(s.table, []string{
			count(p.Proxies) + " × " + count(p.Services), count(p.Rate),
			estimate(p.CPU, ""), estimate(p.Memory, "bytes"), estimate(p.P99, "s"), estimate(p.ConnectCPU, "s"), replicas(p.Replicas), out,
		})
	}
	if beyond {
		s.lines = []string{"beyond the runs the model extrapolates, and the intervals do not cover what may change there: measure nearer before relying on it"}
	}
	return s
}

func replicas(r *sizing.Replicas) string {
	switch {
	case r == nil:
		return "unknown"
	case len(r.Impossible) > 0:
		return "no number: " + strings.Join(r.Impossible, ", ") + " of one proxy is above the limit"
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

// outside names what a prediction extrapolates, and by which factor.
func outside(p sizing.Prediction) string {
	var all []string
	for _, e := range []*sizing.Estimate{p.CPU, p.Memory, p.P99, p.ConnectCPU} {
		if e == nil {
			continue
		}
		for _, b := range e.Extrapolated {
			if text := fmt.Sprintf("%s ×%.3g", b.Quantity, b.Factor); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return strings.Join(all, ", ")
}

func (r *Report) limitLines() []string {
	if len(r.Predictions)+len(r.Sizes) == 0 {
		return nil
	}
	var lines []string
	l := r.Limits
	if l.CPU > 0 {
		lines = append(lines, fmt.Sprintf("%s (%s), %s (%s)", amount(l.CPU, "cores"), l.CPUFrom, amount(l.Memory, "bytes"), l.MemoryFrom))
	}
	if l.P99 > 0 {
		lines = append(lines, "p99 up to "+amount(l.P99, "s")+", the SLO's")
	}
	if l.PushRate > 0 {
		lines = append(lines, count(l.PushRate)+" pushes/s, "+l.KneeFrom)
	}
	return lines
}
