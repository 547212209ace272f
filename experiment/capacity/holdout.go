package capacity

import (
	"cmp"
	"fmt"
	"math"
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

// HoldOutLine compares one cost: the means over the full runs of what is predicted
// for each and of what it measured. Error is Predicted/Measured − 1.
type HoldOutLine struct {
	Name      string          `json:"name"`
	Unit      string          `json:"unit"`
	Predicted sizing.Estimate `json:"predicted"`
	Measured  float64         `json:"measured"`
	Error     float64         `json:"relativeError"`
}

// minHoldOut is how many runs a fit takes.
const minHoldOut = 3

// near is how far equal sizes may differ: rates are sums of scaled parts.
const near = 1e-5

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
		case v <= h.Half*(1+near):
			small = append(small, p)
		case math.Abs(v-h.Full) <= near*h.Full:
			large = append(large, p)
		}
	}
	h.FittedRuns, h.FullRuns = len(small), len(large)
	if len(large) == 0 {
		h.Notes = append(h.Notes, "no sound run at the full size")
		return h
	}
	if len(small) < minHoldOut {
		h.Notes = append(h.Notes, fmt.Sprintf("it takes %d sound runs up to half of the size: grow from a smaller value, or by a smaller --step", minHoldOut))
		return h
	}
	h.compare(sizing.NewModel(small), large)
	return h
}

func (h *HoldOut) compare(m *sizing.Model, large []sizing.Point) {
	for _, c := range []struct {
		name, unit string
		predicted  func(sizing.Prediction) *sizing.Estimate
		measured   func(sizing.Point) *float64
	}{
		{"memory", "bytes", func(p sizing.Prediction) *sizing.Estimate { return p.Memory }, func(p sizing.Point) *float64 { return p.PeakRSS }},
		{"CPU", "cores", func(p sizing.Prediction) *sizing.Estimate { return p.CPU }, func(p sizing.Point) *float64 { return p.Cores }},
		{"latency p99", "s", func(p sizing.Prediction) *sizing.Estimate { return p.P99 }, func(p sizing.Point) *float64 { return p.P99 }},
	} {
		line := HoldOutLine{Name: c.name, Unit: c.unit}
		n, short := 0.0, false
		for _, p := range large {
			e, v := c.predicted(m.Like(p)), c.measured(p)
			if e == nil || v == nil {
				continue
			}
			n++
			line.Measured += *v
			line.Predicted.Value += e.Value
			line.Predicted.Low += e.Low
			line.Predicted.High += e.High
			line.Predicted.Extrapolated = e.Extrapolated
			line.Predicted.Demand += cmp.Or(e.Demand, e.Value)
			short = short || e.Demand > 0
		}
		if n == 0 || line.Measured == 0 {
			h.Notes = append(h.Notes, c.name+": not measured, or not fitted")
			continue
		}
		line.Error = line.Predicted.Value/line.Measured - 1
		for _, x := range []*float64{&line.Measured, &line.Predicted.Value, &line.Predicted.Low, &line.Predicted.High, &line.Predicted.Demand} {
			*x /= n
		}
		if !short {
			line.Predicted.Demand = 0
		}
		if d := line.Predicted.Demand; d > 0 {
			h.Notes = append(h.Notes, fmt.Sprintf("the load would take %.3g cores; the machine has %d, and what the harness leaves of them is predicted", d, large[0].CPUs))
		}
		h.Lines = append(h.Lines, line)
	}
}
