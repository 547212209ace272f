package capacity

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
)

// HoldOut checks the model on what it has not seen: fitted on the runs up to half
// of the full size, it predicts the runs at the full size from their size alone.
type HoldOut struct {
	// Field is what the size is of; Full is the full size, Half what was fitted up to.
	Field string  `json:"field"`
	Full  float64 `json:"full"`
	Half  float64 `json:"half"`
	// FittedRuns and FullRuns are how many there are of each.
	FittedRuns int           `json:"fittedRuns"`
	FullRuns   int           `json:"fullRuns"`
	Lines      []HoldOutLine `json:"lines,omitempty"`
	Notes      []string      `json:"notes,omitempty"`
}

// HoldOutLine compares one cost. Measured is the mean of the full runs, Error is
// Predicted/Measured − 1.
type HoldOutLine struct {
	Name      string          `json:"name"`
	Unit      string          `json:"unit"`
	Predicted sizing.Estimate `json:"predicted"`
	Measured  float64         `json:"measured"`
	Error     float64         `json:"relativeError"`
}

// axis is the size by which runs are told small from full.
type axis struct {
	name string
	of   func(sizing.Point) float64
}

// axes are the sizes that a point has, by the field that sets them.
func axes() []axis {
	return []axis{
		{"proxies.count", func(p sizing.Point) float64 { return p.Proxies }},
		{"rate", func(p sizing.Point) float64 { return p.Rate }},
		{"mesh.services", func(p sizing.Point) float64 { return p.Services }},
		{"mesh.endpointsPerService", func(p sizing.Point) float64 { return p.Endpoints }},
	}
}

// axisOf returns the axis of the field that was grown or, without a search, the
// first that varies; false if there is none.
func axisOf(field string, points []sizing.Point) (axis, bool) {
	for _, a := range axes() {
		if a.name == field {
			return a, true
		}
		if field != "" || len(points) == 0 {
			continue
		}
		byValue := func(x, y sizing.Point) int { return cmp.Compare(a.of(x), a.of(y)) }
		if a.of(slices.MinFunc(points, byValue)) < a.of(slices.MaxFunc(points, byValue)) {
			return a, true
		}
	}
	return axis{}, false
}

// holdOut makes the check at the full size; at the largest sound point if full is
// zero. It is nil if the field is none that the model knows.
func holdOut(points []sizing.Point, field string, full float64) *HoldOut {
	points = slices.DeleteFunc(slices.Clone(points), func(p sizing.Point) bool { return len(p.Doubts) > 0 })
	by, ok := axisOf(field, points)
	if !ok {
		return nil
	}
	h := &HoldOut{Field: by.name, Full: full}
	if full == 0 {
		for _, p := range points {
			h.Full = max(h.Full, by.of(p))
		}
	}
	h.Half = h.Full / 2
	var small, large []sizing.Point
	for _, p := range points {
		switch v := by.of(p); {
		case v <= h.Half:
			small = append(small, p)
		case v == h.Full:
			large = append(large, p)
		}
	}
	h.FittedRuns, h.FullRuns = len(small), len(large)
	if len(large) == 0 {
		h.Notes = append(h.Notes, "no sound run at the full size")
		return h
	}
	h.compare(sizing.NewModel(small), large)
	return h
}

func (h *HoldOut) compare(m *sizing.Model, large []sizing.Point) {
	predicted := m.At(large[0].Size)
	h.line("memory", "bytes", predicted.Memory, large, func(p sizing.Point) *float64 { return p.PeakRSS })
	h.line("CPU", "cores", predicted.CPU, large, func(p sizing.Point) *float64 { return p.Cores })
	h.line("latency p99", "s", predicted.P99, large, func(p sizing.Point) *float64 { return p.P99 })
}

func (h *HoldOut) line(name, unit string, predicted *sizing.Estimate, large []sizing.Point, of func(sizing.Point) *float64) {
	var sum, n float64
	for _, p := range large {
		if v := of(p); v != nil {
			sum += *v
			n++
		}
	}
	switch {
	case predicted == nil:
		h.Notes = append(h.Notes, fmt.Sprintf("%s: no fit from the %d runs up to half of the size", name, h.FittedRuns))
	case n == 0 || sum == 0:
		h.Notes = append(h.Notes, name+": not measured at the full size")
	default:
		h.Lines = append(h.Lines, HoldOutLine{name, unit, *predicted, sum / n, predicted.Value*n/sum - 1})
	}
}
