package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
)

// holdOut checks the model on what it has not seen: fitted on the runs up to half
// of the full size, it predicts the runs at the full size from their size alone.
type holdOut struct {
	// Field is what the size is of; Full is the full size, Half what was fitted up to.
	Field string  `json:"field"`
	Full  float64 `json:"full"`
	Half  float64 `json:"half"`
	// FittedRuns and FullRuns are how many there are of each.
	FittedRuns int           `json:"fittedRuns"`
	FullRuns   int           `json:"fullRuns"`
	Lines      []holdOutLine `json:"lines,omitempty"`
	Notes      []string      `json:"notes,omitempty"`
}

// holdOutLine compares one cost: the means over the full runs of what is predicted
// for each and of what it measured. Error is Predicted/Measured − 1.
type holdOutLine struct {
	Name      string          `json:"name"`
	Unit      string          `json:"unit"`
	Predicted sizing.Estimate `json:"predicted"`
	Measured  float64         `json:"measured"`
	Error     float64         `json:"relativeError"`
}

// minHoldOut is how many runs a fit needs.
const minHoldOut = 3

// sameSize is how far equal sizes may differ, as a share: rates are sums of scaled
// parts.
const sameSize = 1e-5

// axis is the size that says which runs are small and which are full.
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
		varies := slices.ContainsFunc(points, func(p sizing.Point) bool { return a.of(p) != a.of(points[0]) })
		if a.name == field || field == "" && varies {
			return a, true
		}
	}
	return axis{}, false
}

// checkHoldOut makes the check at the full size; at the largest valid run if full
// is zero. It is nil if the field is none that the model knows.
func checkHoldOut(points []sizing.Point, field string, full float64) *holdOut {
	points = slices.DeleteFunc(slices.Clone(points), func(p sizing.Point) bool { return len(p.Questionable) > 0 })
	by, ok := axisOf(field, points)
	if !ok {
		return nil
	}
	h := &holdOut{Field: by.name, Full: full}
	if full == 0 {
		for _, p := range points {
			h.Full = max(h.Full, by.of(p))
		}
	}
	h.Half = h.Full / 2
	var small, large []sizing.Point
	for _, p := range points {
		switch v := by.of(p); {
		case v <= h.Half*(1+sameSize):
			small = append(small, p)
		case math.Abs(v-h.Full) <= sameSize*h.Full:
			large = append(large, p)
		}
	}
	h.FittedRuns, h.FullRuns = len(small), len(large)
	switch {
	case len(large) == 0:
		h.note("no valid run at the full size")
	case len(small) < minHoldOut:
		h.note("at least %d valid runs up to half of the size are needed: grow from a smaller value, or by a smaller --step", minHoldOut)
	default:
		h.compare(sizing.NewModel(small), large)
	}
	return h
}

func (h *holdOut) note(format string, args ...any) {
	h.Notes = append(h.Notes, fmt.Sprintf(format, args...))
}

func (h *holdOut) compare(m *sizing.Model, large []sizing.Point) {
	for _, c := range []struct {
		name, unit string
		predicted  func(sizing.Prediction) *sizing.Estimate
		measured   func(sizing.Point) *float64
	}{
		{"memory", "bytes", func(p sizing.Prediction) *sizing.Estimate { return p.Memory }, func(p sizing.Point) *float64 { return p.PeakRSS }},
		{"CPU", "cores", func(p sizing.Prediction) *sizing.Estimate { return p.CPU }, func(p sizing.Point) *float64 { return p.Cores }},
		{"latency p99", "s", func(p sizing.Prediction) *sizing.Estimate { return p.P99 }, func(p sizing.Point) *float64 { return p.P99 }},
	} {
		line, n, limited := holdOutLine{Name: c.name, Unit: c.unit}, 0.0, false
		sum := &line.Predicted
		for _, p := range large {
			e, v := c.predicted(m.Like(p)), c.measured(p)
			if e == nil || v == nil {
				continue
			}
			n++
			line.Measured += *v
			sum.Value, sum.Low, sum.High, sum.Extrapolated = sum.Value+e.Value, sum.Low+e.Low, sum.High+e.High, e.Extrapolated
			sum.Demand += cmp.Or(e.Demand, e.Value)
			limited = limited || e.Demand > 0
		}
		if n == 0 || line.Measured == 0 {
			h.note("%s: not measured, or not fitted", c.name)
			continue
		}
		line.Error = sum.Value/line.Measured - 1
		for _, x := range []*float64{&line.Measured, &sum.Value, &sum.Low, &sum.High, &sum.Demand} {
			*x /= n
		}
		if limited {
			h.note("the load would need %.3g cores; the machine has %d, and what the harness leaves of them is predicted", sum.Demand, large[0].CPUs)
		} else {
			sum.Demand = 0
		}
		h.Lines = append(h.Lines, line)
	}
}
