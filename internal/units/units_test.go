package units_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/internal/units"
)

func TestNumbersAreWrittenInUnitsThatKeepThemShort(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ got, want string }{
		{units.Duration(0), "0 s"},
		{units.Duration(2.5e-8), "25 ns"},
		{units.Duration(79.44e-6), "79.4 µs"},
		{units.Duration(0.9996e-3), "1 ms"},
		{units.Duration(-0.0002), "-200 µs"},
		{units.Duration(0.2583), "258 ms"},
		{units.Duration(1.1849), "1.18 s"},
		{units.Duration(599), "599 s"},
		{units.Duration(900), "15 min"},
		{units.Bytes(0), "0 B"},
		{units.Bytes(999.4), "999 B"},
		{units.Bytes(int64(99_000)), "99 kB"},
		{units.Bytes(uint64(16 << 30)), "17.2 GB"},
		{units.Bytes(-1_723_000), "-1.72 MB"},
		{units.Count(-1), "-1"},
		{units.Count(999), "999"},
		{units.Count(-1_234_567), "-1,234,567"},
		{units.Count(int64(math.MinInt64)), "-9,223,372,036,854,775,808"},
		{units.Plural(1, "run", "runs"), "1 run"},
		{units.Plural(0, "run", "runs"), "0 runs"},
		{units.Number(0), "0"},
		{units.Number(0.01234), "0.0123"},
		{units.Number(0.09996), "0.1"},
		{units.Number(9.996), "10"},
		{units.Number(99.96), "100"},
		{units.Number(12345.6), "12346"},
		{units.Percent(0), "0 %"},
		{units.Percent(0.00001), "~0 %"},
		{units.Percent(-0.002), "-0.2 %"},
		{units.Percent(0.12345), "12.3 %"},
		{units.Percent(1), "100 %"},
		{units.Amount(0.25, "cores"), "0.25 cores"},
		{units.Amount(12_000, ""), "12,000"},
		{units.Amount(1.5, ""), "1.5"},
		{units.Amount(2475.3, ""), "2,475"},
		{units.Range(0.0217, 0.0224, "s"), "21.7 to 22.4 ms"},
		{units.Range(0.9, 1.1, "s"), "900 ms to 1.1 s"},
		{units.Range(1, 2, ""), "1 to 2"},
		{units.Margin(0.022, 0, "s"), "22 ms"},
		{units.Margin(0.1, 0.02, "s"), "100 ms ± 20 %"},
		{units.Margin(0, 3, ""), "0 ± 3"},
		{units.Signed("0 s"), "0 s"},
		{units.Signed("~0 %"), "~0 %"},
		{units.Signed("-3 ms"), "-3 ms"},
		{units.Signed("0.5 s"), "+0.5 s"},
	} {
		if x.got != x.want {
			t.Errorf("got %q, want %q", x.got, x.want)
		}
	}
}

func TestNumbersReadBackWithinHalfOfTheThirdDigit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.Float64Range(1e-12, 1e12).Draw(rt, "x")
		got, err := strconv.ParseFloat(units.Number(x), 64)
		if err != nil || math.Abs(got-x) > x*0.0051 {
			rt.Fatalf("%v is written as %s", x, units.Number(x))
		}
	})
}

func TestCountsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64().Draw(rt, "n")
		if got, err := strconv.ParseInt(strings.ReplaceAll(units.Count(n), ",", ""), 10, 64); err != nil || got != n {
			rt.Fatalf("%d is written as %s", n, units.Count(n))
		}
	})
}
