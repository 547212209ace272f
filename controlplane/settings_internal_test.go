package controlplane

import "testing"

func TestAutomaticThrottleIsIstiods(t *testing.T) {
	for procs, want := range map[int]int{1: 20, 2: 25, 4: 35, 17: 100, 64: 100} {
		if got := autoThrottle(procs); got != want {
			t.Errorf("throttle for %d processors is %d, want %d", procs, got, want)
		}
	}
}
