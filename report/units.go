package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/result"
)

// span writes seconds with three significant digits, such as "104 ms".
func span(seconds float64) string {
	size := math.Abs(seconds)
	switch {
	case size == 0:
		return "0 s"
	case size < 0.9995e-3:
		return digits(seconds*1e6) + " µs"
	case size < 0.9995:
		return digits(seconds*1e3) + " ms"
	case size < 600:
		return digits(seconds) + " s"
	}
	return digits(seconds/60) + " min"
}

// size writes bytes with three significant digits in decimal units, such as "1.7 MB".
func size(bytes float64) string {
	switch b := math.Abs(bytes); {
	case b < 999.5:
		return digits(bytes) + " B"
	case b < 999.5e3:
		return digits(bytes/1e3) + " kB"
	case b < 999.5e6:
		return digits(bytes/1e6) + " MB"
	}
	return digits(bytes/1e9) + " GB"
}

// digits writes a number with up to three significant digits, and never with
// fewer than it has before the point.
func digits(x float64) string {
	decimals := 0
	switch size := math.Abs(x); {
	case size < 9.995:
		decimals = 2
	case size < 99.95:
		decimals = 1
	}
	s := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// count writes a whole number with separators, such as "12,000".
func count[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// plural writes a count and its noun.
func plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// Amount writes a value with three significant digits in its unit, "s", "bytes" or
// none: "104 ms", "1.7 MB", "12,000".
func Amount(value float64, unit string) string {
	switch unit {
	case "s":
		return span(value)
	case "bytes":
		return size(value)
	}
	if value == math.Trunc(value) && math.Abs(value) < 1e15 {
		return count(int64(value))
	}
	return digits(value)
}

// quantiles writes the p50, p90, p99 and maximum of a distribution.
func quantiles(d *result.Distribution, write func(float64) string) []string {
	return []string{write(d.P50), write(d.P90), write(d.P99), write(d.Max)}
}
