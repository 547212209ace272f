package report

import "github.com/xdsbench/xdsbench/internal/units"

// Amount writes a value in its unit, "s", "bytes" or none.
func Amount(value float64, unit string) string { return units.Amount(value, unit) }
