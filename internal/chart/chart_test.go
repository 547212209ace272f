package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/internal/chart"
)

func sample() chart.Chart {
	return chart.Chart{
		Title: "Latency & <cost>", XLabel: "debounce (s)", YLabel: "p99 (s)", LogX: true, LogY: true,
		Series: []chart.Series{
			{Name: "sotw", Line: true, Marks: true, Points: []chart.Point{{0.01, 0.2, 0.1, 0.3}, {0.1, 0.4, 0.4, 0.4}}},
			{Name: "front", Line: true, Dashed: true, Points: []chart.Point{{0.02, 0.3, 0, 0}, {0.2, 3, 0, 0}}},
			{Name: "empty", Marks: true},
		},
	}
}

func svg(t *testing.T, c chart.Chart) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := c.SVG(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestEqualChartsGiveEqualWellFormedSVG(t *testing.T) {
	t.Parallel()
	got := svg(t, sample())
	if !bytes.Equal(got, svg(t, sample())) {
		t.Error("two drawings of one chart differ")
	}
	for _, want := range []string{"Latency &amp; &lt;cost&gt;", "debounce (s)", "p99 (s)", "sotw", "front", ">0.02<", "stroke-dasharray"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in the SVG", want)
		}
	}
	d := xml.NewDecoder(bytes.NewReader(got))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOneEqualOrNoPointIsDrawnToo(t *testing.T) {
	t.Parallel()
	for _, log := range []bool{false, true} {
		for _, points := range [][]chart.Point{nil, {{1, 1, 1, 1}}, {{5, 2, 2, 2}, {5, 2, 2, 2}}} {
			svg(t, chart.Chart{LogX: log, LogY: log, Series: []chart.Series{{Line: true, Marks: true, Points: points}}})
		}
	}
	svg(t, chart.Chart{Series: []chart.Series{{Marks: true, Points: []chart.Point{{0, 0, 0, 0}}}}})
}

func TestWhatAnAxisCannotShowIsAnErrorThatNamesTheSeries(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]chart.Point{"x": {X: 0, Y: 1}, "y": {X: 1, Y: -1, Low: -1, High: -1}, "low": {X: 1, Y: 1, Low: 0, High: 2}, "NaN": {X: 1, Y: math.NaN()}} {
		c := chart.Chart{LogX: true, LogY: true, Series: []chart.Series{{Name: "odd", Line: true, Points: []chart.Point{p}}}}
		if err := c.SVG(io.Discard); err == nil || !strings.Contains(err.Error(), "odd") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
