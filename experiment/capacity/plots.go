package capacity

import (
	"cmp"
	"slices"

	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
	"github.com/xdsbench/xdsbench/internal/chart"
)

// plot is one chart and the file that it is saved in.
type plot struct {
	file  string
	chart chart.Chart
}

// plots show the measured points beside the model. Costs that depend on more than
// what is on the x axis are fitted at each point's own size.
func (r *Report) plots() []plot {
	var all []plot
	m := r.Model
	if m.CPU != nil {
		by := axis{"pushes/s, drain included", func(p sizing.Point) float64 { return p.PushRate * p.Duty }}
		all = append(all, plot{"cpu.svg", r.costChart("CPU in steady load", "cores", m.CPU, by, 1)})
	}
	if m.Memory != nil {
		by, varies := axisOf("", r.Points)
		if !varies {
			by = axes()[0]
		}
		const megabyte = 1e6
		all = append(all, plot{"memory.svg", r.costChart("Peak memory", "RSS (MB)", m.Memory, by, megabyte)})
	}
	if u := m.Latency; u != nil {
		by := axis{u.Load, u.LoadOf}
		c := r.costChart("Latency, 99th percentile", "p99 (s)", u.Fit, by, 1)
		c.Series = append(c.Series, r.knee(c, by)...)
		all = append(all, plot{"latency.svg", c})
	}
	return all
}

// costChart draws one cost in a unit: the measured points, those that were left out
// of the fit, and the fit.
func (r *Report) costChart(title, label string, f *sizing.Fit, by axis, unit float64) chart.Chart {
	var measured, leftOut, model []chart.Point
	for _, p := range r.Points {
		y := f.Cost(p)
		if y == nil {
			continue
		}
		at := point(by.of(p), *y/unit)
		fitted, ok := f.Fitted(p)
		if !ok {
			leftOut = append(leftOut, at)
			continue
		}
		measured, model = append(measured, at), append(model, point(at.X, fitted/unit))
	}
	slices.SortFunc(model, func(a, b chart.Point) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	c := chart.Chart{Title: title, XLabel: by.name, YLabel: label, Series: []chart.Series{
		{Name: "measured", Points: measured, Marks: true},
		{Name: "model", Points: model, Line: true, Dashed: true},
	}}
	if len(leftOut) > 0 {
		c.Series = append(c.Series, chart.Series{Name: "not in the fit", Points: leftOut, Marks: true})
	}
	return c
}

func point(x, y float64) chart.Point { return chart.Point{X: x, Y: y, Low: y, High: y} }

// knee draws the found load as an upright line, and the SLO as a level one.
func (r *Report) knee(c chart.Chart, by axis) []chart.Series {
	var right, top float64
	for _, s := range c.Series {
		for _, p := range s.Points {
			right, top = max(right, p.X), max(top, p.Y)
		}
	}
	var lines []chart.Series
	if limit := r.Limits.P99; limit > 0 && limit < 2*top {
		lines = append(lines, chart.Series{Name: "SLO", Line: true, Points: []chart.Point{point(0, limit), point(right, limit)}})
	}
	if r.Limits.PushRate <= 0 {
		return lines
	}
	at := by.of(sizing.Point{PushRate: r.Limits.PushRate, Size: r.base()})
	return append(lines, chart.Series{Name: "knee (" + r.Answer.Kind + ")", Line: true, Points: []chart.Point{point(at, 0), point(at, top)}})
}
