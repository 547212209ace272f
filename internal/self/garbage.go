package self

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// A run lets garbage of garbageBudget pile up, or of minGCPercent of what is live
// where that is more. A collection takes the processor from tens of thousands of
// messages, the longer the larger the fleet: Go's rule, which goes by what is live
// alone, makes them too frequent for a fleet of hundreds and needs twice the memory
// for one of ten thousands.
const (
	garbageBudget = 80 << 20
	minGCPercent  = 15
	maxGCPercent  = 400

	// defaultGCPercent is the runtime's, and stands if nobody set GOGC.
	defaultGCPercent = 100
)

// BudgetGarbage keeps to the budget until stop is called. Where the environment has
// GOGC, that stands.
func BudgetGarbage() (stop func()) {
	before := debug.SetGCPercent(gcPercent(liveBytes()))
	if before != defaultGCPercent {
		debug.SetGCPercent(before)
		return func() {}
	}
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		set := 0
		for {
			select {
			case <-tick.C:
			case <-ended:
				return
			}
			// Setting it stops all goroutines for a moment.
			if want := gcPercent(liveBytes()); want < set*9/10 || want > set*11/10 {
				set = want
				debug.SetGCPercent(want)
			}
		}
	})
	return func() {
		close(ended)
		wg.Wait()
		debug.SetGCPercent(before)
	}
}

// gcPercent is the budget in percent of what is live, as GOGC counts.
func gcPercent(live uint64) int {
	return int(min(max(garbageBudget*100/max(live, 1), minGCPercent), maxGCPercent)) //nolint:gosec // bounded
}

// liveBytes is what the latest collection found in use: heap, and stacks.
func liveBytes() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	metrics.Read(samples)
	var sum uint64
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}
