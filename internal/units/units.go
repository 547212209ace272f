// Package units writes numbers for people: with three significant digits and a unit
// that keeps them short. Every report uses it, so that a figure looks the same
// wherever it is shown.
package units

import (
	"math"
	"strconv"
	"strings"
)

// Duration writes seconds, such as "104 ms" or "1.2 s".
func Duration(seconds float64) string {
	switch size := math.Abs(seconds); {
	case size == 0:
		return "0 s"
	case size < 0.9995e-6:
		return Number(seconds*1e9) + " ns"
	case size < 0.9995e-3:
		return Number(seconds*1e6) + " µs"
	case size < 0.9995:
		return Number(seconds*1e3) + " ms"
	case size < 600:
		return Number(seconds) + " s"
	}
	return Number(seconds/60) + " min"
}

// Bytes writes a size in decimal units, such as "1.7 MB".
func Bytes[N int | int64 | uint64 | float64](n N) string {
	bytes := float64(n)
	switch size := math.Abs(bytes); {
	case size < 999.5:
		return Number(bytes) + " B"
	case size < 999.5e3:
		return Number(bytes/1e3) + " kB"
	case size < 999.5e6:
		return Number(bytes/1e6) + " MB"
	}
	return Number(bytes/1e9) + " GB"
}

// Count writes a whole number with separators, such as "12,000".
func Count[N int | int64](n N) string {
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

// Plural writes a count and its noun: "1 run", "12,000 runs".
func Plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Number writes a number with up to three significant digits, and never with fewer
// than it has before the point.
func Number(x float64) string {
	decimals := 0
	if size := math.Abs(x); size > 0 && size < 99.95 {
		// 9.996 has two digits before the point once it is rounded to three.
		decimals = max(0, 2-int(math.Floor(math.Log10(size*1.0005))))
	}
	return decimal(x, decimals)
}

// decimal writes a number with so many decimals, without zeros at the end.
func decimal(x float64, decimals int) string {
	s := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Percent writes a share of one, such as "12.5 %". What is too small for two
// decimals, but not nothing, is "~0 %".
func Percent(share float64) string {
	x := 100 * share
	switch size := math.Abs(x); {
	case size == 0:
		return "0 %"
	case size < 0.005:
		return "~0 %"
	case size < 1:
		return decimal(x, 2) + " %"
	}
	return Number(x) + " %"
}

// Amount writes a value in its unit: "s", "bytes", "cores" or none.
func Amount(value float64, unit string) string {
	switch unit {
	case "s":
		return Duration(value)
	case "bytes":
		return Bytes(value)
	case "cores":
		return Number(value) + " cores"
	}
	if size := math.Abs(value); (size >= 99.95 || value == math.Trunc(value)) && size < 1e15 {
		return Count(int64(math.Round(value)))
	}
	return Number(value)
}

// Range writes the ends of a range, and their unit once if they share it: "21.7 to
// 22.4 ms".
func Range(low, high float64, unit string) string {
	from, to := Amount(low, unit), Amount(high, unit)
	if number, name, ok := strings.Cut(from, " "); ok && strings.HasSuffix(to, " "+name) {
		from = number
	}
	return from + " to " + to
}

// Margin writes a value and how far its interval reaches from it: "22 ms ± 3.2 %".
// Of a value of zero the margin has the value's unit.
func Margin(value, margin float64, unit string) string {
	switch {
	case margin == 0:
		return Amount(value, unit)
	case value == 0:
		return Amount(value, unit) + " ± " + Amount(margin, unit)
	}
	return Amount(value, unit) + " ± " + Percent(margin/math.Abs(value))
}

// Signed puts a plus before an amount that this package wrote, if it is above zero.
func Signed(amount string) string {
	if number, _, _ := strings.Cut(amount, " "); number == "0" || strings.HasPrefix(number, "-") || strings.HasPrefix(number, "~") {
		return amount
	}
	return "+" + amount
}
