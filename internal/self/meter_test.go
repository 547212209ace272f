package self_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/internal/self"
	"github.com/xdsbench/xdsbench/result"
)

func TestSelfMeterMeasuresThisProcess(t *testing.T) {
	m := self.Start()
	runtime.GC()
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
	}
	var h result.Harness
	if _, err := m.Stop(&h); err != nil {
		t.Fatal(err)
	}
	if *h.WallSeconds < 0.05 || *h.CPUSeconds <= 0 || *h.PeakRSSBytes < 1<<20 || *h.GCPauseMax <= 0 || h.GOMAXPROCS < 1 {
		t.Errorf("wall %v, CPU %v, RSS %v, pause %v", *h.WallSeconds, *h.CPUSeconds, *h.PeakRSSBytes, *h.GCPauseMax)
	}
}

func TestHostIsDescribed(t *testing.T) {
	e, err := self.Host()
	if err != nil {
		t.Logf("incomplete: %v", err)
	}
	if e.CPUs < 1 || e.GOMAXPROCS < 1 || e.OS == "" || e.Versions["go"] == "" {
		t.Errorf("environment = %+v", e)
	}
}
