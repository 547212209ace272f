// Package chart draws line and scatter charts with error bars as SVG. Equal
// charts give equal bytes.
package chart

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Point is one value. Low to High is its error bar; none if they are equal.
type Point struct{ X, Y, Low, High float64 }

// Series are the points of one name, as a line, as marks, or as both.
type Series struct {
	Name                string
	Points              []Point
	Line, Marks, Dashed bool
}

// Chart is what to draw. A logarithmic axis takes positive values only.
type Chart struct {
	Title, XLabel, YLabel string
	LogX, LogY            bool
	Series                []Series
}

// The size of a chart, and the room around it.
const (
	width  = 18 * vg.Centimeter
	height = 11 * vg.Centimeter
	margin = 3 * vg.Millimeter
)

// SVG writes the chart.
func (c Chart) SVG(w io.Writer) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.XLabel, c.YLabel
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	for i, s := range c.Series {
		if err := c.check(s); err != nil {
			return err
		}
		if err := add(p, s, i); err != nil {
			return fmt.Errorf("chart %q, series %q: %w", c.Title, s.Name, err)
		}
	}
	scale(&p.X, c.LogX)
	scale(&p.Y, c.LogY)
	if room := 0.07 * float64(len(c.Series)); c.LogY { // for the legend, above the highest point
		p.Y.Max *= math.Pow(p.Y.Max/p.Y.Min, room)
	} else {
		p.Y.Max += (p.Y.Max - p.Y.Min) * room
	}
	canvas := vgsvg.New(width, height)
	p.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("chart %q: %w", c.Title, err)
	}
	return nil
}

// check refuses what an axis cannot show.
func (c Chart) check(s Series) error {
	for _, p := range s.Points {
		if c.LogX && p.X <= 0 || c.LogY && (p.Y <= 0 || p.Low != p.High && p.Low <= 0) {
			return fmt.Errorf("chart %q, series %q: %+v: a logarithmic axis takes positive values only", c.Title, s.Name, p)
		}
	}
	return nil
}

// colours are told apart by people with the common kinds of colour blindness:
// Okabe and Ito, Color Universal Design, 2008.
func colours() []color.Color {
	return []color.Color{
		color.RGBA{R: 0, G: 114, B: 178, A: 255},
		color.RGBA{R: 213, G: 94, B: 0, A: 255},
		color.RGBA{R: 0, G: 158, B: 115, A: 255},
		color.RGBA{R: 204, G: 121, B: 167, A: 255},
		color.RGBA{R: 230, G: 159, B: 0, A: 255},
		color.RGBA{R: 86, G: 180, B: 233, A: 255},
		color.Black,
	}
}

func shapes() []draw.GlyphDrawer {
	return []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}}
}

// points gives gonum's plotters the coordinates and the error bars.
type points []Point

func (p points) Len() int                    { return len(p) }
func (p points) XY(i int) (x, y float64)     { return p[i].X, p[i].Y }
func (p points) YError(i int) (l, h float64) { return p[i].Y - p[i].Low, p[i].High - p[i].Y }

// add draws the i-th series.
func add(p *plot.Plot, s Series, i int) error {
	if len(s.Points) == 0 {
		return nil
	}
	colour := colours()[i%len(colours())]
	var legend []plot.Thumbnailer
	if s.Line {
		line, err := plotter.NewLine(points(s.Points))
		if err != nil {
			return err
		}
		line.Color, line.Width = colour, vg.Points(1.5)
		if s.Dashed {
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		p.Add(line)
		legend = append(legend, line)
	}
	if s.Marks {
		marks, err := plotter.NewScatter(points(s.Points))
		if err != nil {
			return err
		}
		marks.GlyphStyle = draw.GlyphStyle{Color: colour, Radius: vg.Points(3.5), Shape: shapes()[(i+i/len(colours()))%len(shapes())]}
		p.Add(marks)
		legend = append(legend, marks)
	}
	if s.Name != "" && len(legend) > 0 {
		p.Legend.Add(s.Name, legend...)
	}
	return addBars(p, s.Points, colour)
}

func addBars(p *plot.Plot, all points, colour color.Color) error {
	var barred points
	for _, x := range all {
		if x.Low != x.High {
			barred = append(barred, x)
		}
	}
	if len(barred) == 0 {
		return nil
	}
	bars, err := plotter.NewYErrorBars(barred)
	if err != nil {
		return err
	}
	bars.Color = colour
	p.Add(bars)
	return nil
}

// scale sets an axis's range and ticks.
func scale(a *plot.Axis, log bool) {
	if math.IsInf(a.Min, 0) || math.IsInf(a.Max, 0) { // no points
		a.Min, a.Max = 1, 10
	}
	if !log {
		a.Min = min(a.Min, 0)
		if a.Max <= a.Min {
			a.Max = a.Min + 1
		}
		a.Max += 0.03 * (a.Max - a.Min)
		return
	}
	a.Min, a.Max = a.Min/1.3, a.Max*1.3
	a.Scale = plot.LogScale{}
	a.Tick.Marker = plot.TickerFunc(logTicks)
}

// logTicks labels 1, 2 and 5 times the powers of ten.
func logTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for m := 1.0; m < 10; m++ {
			value := m * math.Pow(10, e)
			if value < low || value > high {
				continue
			}
			tick := plot.Tick{Value: value}
			if m == 1 || m == 2 || m == 5 {
				tick.Label = fmt.Sprintf("%.6g", value)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}
