package sweep

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xdsbench/xdsbench/internal/chart"
	"github.com/xdsbench/xdsbench/internal/rate"
)

// namedChart is a chart and the file that it goes to.
type namedChart struct {
	file  string
	chart chart.Chart
}

// charts draws the two figures of the front over each field whose values are
// numbers, and against each other.
func (r *Report) charts() []namedChart {
	var all []namedChart
	for i, v := range r.Plan.Vary {
		axis, ok := numeric(v)
		if !ok {
			continue
		}
		for _, of := range []struct{ file, title, figure, unit string }{
			{"latency", "Latency, p99", latencyP99, "s"},
			{"cpu", "CPU of the control plane, steady load", cpuSeconds, "s"},
		} {
			c := chart.Chart{
				Title: of.title + ", by " + v.shortName(), XLabel: axis.label(v), YLabel: "median, least and largest of the repeats (" + of.unit + ")",
				LogX: axis.logScale(), Series: r.series(i, axis, of.figure),
			}
			if len(c.Series) > 0 {
				c.LogY = wide(c.Series)
				all = append(all, namedChart{file: of.file + "-" + fileName(v.shortName()) + ".svg", chart: c})
			}
		}
	}
	if len(r.Front) > 0 {
		all = append(all, namedChart{file: "front.svg", chart: r.scatter()})
	}
	return all
}

// axis is a field's values as numbers.
type axis struct {
	unit   string // "s", "1/s" or empty
	values map[string]float64
}

func (a axis) label(v Vary) string {
	if a.unit == "" {
		return v.shortName()
	}
	return v.shortName() + " (" + a.unit + ")"
}

// logScale reports whether the values are better spread out on a logarithmic axis.
func (a axis) logScale() bool {
	var all []float64
	for _, x := range a.values {
		all = append(all, x)
	}
	return slices.Min(all) > 0 && slices.Max(all) >= 8*slices.Min(all)
}

// numeric reads a field's values as plain numbers, durations or rates; ok is false
// if they are none of these, or fewer than two.
func numeric(v Vary) (axis, bool) {
	if len(v.Values) < 2 {
		return axis{}, false
	}
	for _, kind := range []struct {
		unit  string
		parse func(string) (float64, error)
	}{
		{"", func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }},
		{"s", func(s string) (float64, error) {
			d, err := time.ParseDuration(s)
			return d.Seconds(), err
		}},
		{"1/s", func(s string) (float64, error) {
			x, err := rate.Parse(s)
			return float64(x), err
		}},
	} {
		a := axis{unit: kind.unit, values: make(map[string]float64)}
		if !slices.ContainsFunc(v.Values, func(text string) bool {
			x, err := kind.parse(text)
			a.values[text] = x
			return err != nil
		}) {
			return a, true
		}
	}
	return axis{}, false
}

// series has a line per combination of the other fields' values. Questionable
// settings are left out.
func (r *Report) series(varied int, a axis, figure string) []chart.Series {
	var all []chart.Series
	for i := range r.Settings {
		o := &r.Settings[i]
		f, ok := o.Figures[figure]
		if !ok || !o.valid() {
			continue
		}
		var others []string
		for k, v := range r.Plan.Vary {
			if k != varied {
				others = append(others, v.shortName()+"="+o.Values[v.Field])
			}
		}
		name := strings.Join(others, " ")
		at := slices.IndexFunc(all, func(s chart.Series) bool { return s.Name == name })
		if at < 0 {
			all = append(all, chart.Series{Name: name, Line: true, Marks: true})
			at = len(all) - 1
		}
		x := a.values[o.Values[r.Plan.Vary[varied].Field]]
		all[at].Points = append(all[at].Points, chart.Point{X: x, Y: f.Median, Low: f.Min, High: f.Max})
	}
	for _, s := range all {
		slices.SortFunc(s.Points, func(p, q chart.Point) int { return cmp.Compare(p.X, q.X) })
	}
	return all
}

// mostNamed is how many settings the scatter's legend names one by one.
const mostNamed = 8

// scatter draws latency against processor time, and the front as a line.
func (r *Report) scatter() chart.Chart {
	c := chart.Chart{
		Title: "Latency against cost", XLabel: "CPU of the control plane, steady load (s)", YLabel: "latency, p99 (s)",
	}
	line := chart.Series{Name: "front", Line: true, Dashed: true}
	for _, id := range r.Front {
		o := r.find(id)
		line.Points = append(line.Points, chart.Point{X: o.cpu().Median, Y: o.p99().Median})
	}
	others := chart.Series{Name: "settings", Marks: true}
	questionable := chart.Series{Name: "questionable", Marks: true}
	for i := range r.Settings {
		o := &r.Settings[i]
		point := chart.Point{X: o.cpu().Median, Y: o.p99().Median, Low: o.p99().Min, High: o.p99().Max}
		switch {
		case !o.comparable():
		case !o.valid():
			questionable.Points = append(questionable.Points, point)
		case len(r.Settings) <= mostNamed:
			c.Series = append(c.Series, chart.Series{Name: o.Name, Marks: true, Points: []chart.Point{point}})
		default:
			others.Points = append(others.Points, point)
		}
	}
	for _, s := range []chart.Series{others, questionable, line} {
		if len(s.Points) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	c.LogY = wide(c.Series)
	return c
}

// wide reports whether the values are positive and so far apart that the small
// ones would not be seen on a linear axis.
func wide(series []chart.Series) bool {
	low, high := math.Inf(1), 0.0
	for _, s := range series {
		for _, p := range s.Points {
			low, high = min(low, p.Y), max(high, p.Y)
			if p.Low != p.High {
				low = min(low, p.Low)
			}
		}
	}
	return low > 0 && high >= 20*low
}
