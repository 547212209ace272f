package collect

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// What the histograms hold: times in nanoseconds with a resolution of 1 µs up
// to an hour, sizes in bytes up to 64 GiB.
const (
	timeUnit    = int64(time.Microsecond)
	maxTime     = int64(time.Hour)
	maxBytes    = int64(64 << 30)
	fleetDigits = 3
	// A mutation's own histogram answers its row's median and p99 within 1 %, a
	// proxy's own within 10 %, and both stay at about a kilobyte.
	mutationDigits = 2
	proxyDigits    = 1
)

const secondsPerNanosecond = 1e-9

func newTimes() *hdrhistogram.Histogram {
	return hdrhistogram.New(timeUnit, maxTime, fleetDigits)
}

// newCoarse returns a histogram that is within 1 %, a tenth of newTimes' size.
func newCoarse() *hdrhistogram.Histogram {
	return hdrhistogram.New(timeUnit, maxTime, mutationDigits)
}
