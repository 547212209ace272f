package capacity

import (
	"fmt"
	"math"

	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
	"github.com/xdsbench/xdsbench/report"
)

// amount writes a figure in its unit; costs per byte are below what the reports
// of runs need to write.
func amount(value float64, unit string) string {
	switch {
	case unit == "cores":
		return fmt.Sprintf("%.3g cores", value)
	case unit == "s" && value != 0 && math.Abs(value) < 1e-6:
		return fmt.Sprintf("%.3g ns", value*1e9)
	}
	return report.Amount(value, unit)
}

// count writes a number without a unit, a large one without fractions.
func count(value float64) string {
	if math.Abs(value) >= 100 {
		value = math.Round(value)
	}
	return report.Amount(value, "")
}

func figure(value *float64, unit string) string {
	if value == nil {
		return ""
	}
	return amount(*value, unit)
}

// estimate writes a figure and how far its interval reaches up.
func estimate(e *sizing.Estimate, unit string) string {
	switch {
	case e == nil:
		return "unknown"
	case e.Value == 0:
		return amount(0, unit)
	}
	text := amount(e.Value, unit)
	if unit == "" {
		text = fmt.Sprintf("%.3g", e.Value)
	}
	half := 100 * (e.High - e.Value) / e.Value
	if half >= 10 {
		return text + fmt.Sprintf(" ± %.0f %%", half)
	}
	return text + fmt.Sprintf(" ± %.2g %%", half)
}

func interval(e *sizing.Estimate, unit string) string {
	return amount(e.Low, unit) + " to " + amount(e.High, unit)
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", share*100) }

func signed(share float64) string { return fmt.Sprintf("%+.1f %%", share*100) }
