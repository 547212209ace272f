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
	size := r.sizeAxis()
	if m.CPU != nil {
		all = append(all, r.plot("cpu.svg", "CPU in steady load", "cores", m.CPU, axis{"pushes/s, drain included", func(p sizing.Point) float64 { return p.PushRate * p.Duty }}, func(p sizing.Point) *float64 { return p.Cores }))
	}
	if m.Memory != nil {
		all = append(all, r.plot("memory.svg", "Peak memory", "RSS (MB)", m.Memory, size, func(p sizing.Point) *float64 { return scaled(p.PeakRSS, megabytes) }))
	}
	if u := m.Latency; u != nil {
		by := axis{u.Load, pushRate}
		if u.Load == sizing.LoadProxies {
			by.of = func(p sizing.Point) float64 { return p.Proxies }
		}
		x := r.plot("latency.svg", "Latency, 99th percentile", "p99 (s)", u.Fit, by, func(p sizing.Point) *float64 { return p.P99 })
		x.chart.Series = append(x.chart.Series, r.knee(x.chart, by)...)
		all = append(all, x)
	}
	return all
}

// megabytes converts from bytes.
const megabytes = 1e-6

func scaled(value *float64, by float64) *float64 {
	if value == nil {
		return nil
	}
	return new(*value * by)
}

func pushRate(p sizing.Point) float64 { return p.PushRate }

// sizeAxis is what the memory is drawn over.
func (r *Report) sizeAxis() axis {
	if a, varies := axisOf("", r.Points); varies {
		return a
	}
	return axes()[0]
}

// plot draws one cost: the points in the fit, those left out, and the fit.
func (r *Report) plot(file, title, unit string, f *sizing.Fit, by axis, cost func(sizing.Point) *float64) plot {
	factor := 1.0
	if unit == "RSS (MB)" {
		factor = megabytes
	}
	fitted := make(map[string]float64)
	for _, x := range f.Residuals {
		fitted[x.Run] = x.Fitted * factor
	}
	var measured, left, model []chart.Point
	for _, p := range r.Points {
		y := cost(p)
		if y == nil {
			continue
		}
		value, ok := fitted[p.Run]
		if !ok {
			left = append(left, spot(by.of(p), *y))
			continue
		}
		measured = append(measured, spot(by.of(p), *y))
		model = append(model, spot(by.of(p), value))
	}
	slices.SortFunc(model, func(a, b chart.Point) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	c := chart.Chart{Title: title, XLabel: by.name, YLabel: unit, Series: []chart.Series{
		{Name: "measured", Points: measured, Marks: true},
		{Name: "model", Points: model, Line: true, Dashed: true},
	}}
	if len(left) > 0 {
		c.Series = append(c.Series, chart.Series{Name: "not in the fit", Points: left, Marks: true})
	}
	return plot{file, c}
}

func spot(x, y float64) chart.Point { return chart.Point{X: x, Y: y, Low: y, High: y} }

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
		lines = append(lines, chart.Series{Name: "SLO", Line: true, Points: []chart.Point{spot(0, limit), spot(right, limit)}})
	}
	if r.Limits.PushRate <= 0 {
		return lines
	}
	at := by.of(sizing.Point{PushRate: r.Limits.PushRate, Size: r.base()})
	return append(lines, chart.Series{Name: "knee (" + r.Answer.Kind + ")", Line: true, Points: []chart.Point{spot(at, 0), spot(at, top)}})
}
