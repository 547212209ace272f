package harness

import (
	"math"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/result/observed"
	"github.com/xdsbench/xdsbench/result/rows"
	"github.com/xdsbench/xdsbench/target"
)

func TestCostOfSteadyLoadIsTheDifferenceOfTwoReadings(t *testing.T) {
	start := time.Now()
	cores, rss := 1.5, int64(900)
	idle, large := 3.0, int64(5000)
	c := steadyCost([]costReading{
		{start, target.Usage{CPUSeconds: 10, RSSBytes: 100}},
		{start.Add(20 * time.Second), target.Usage{CPUSeconds: 15, RSSBytes: 200}},
	}, []rows.Timeline{
		{Phase: string(PhaseConnect), Cores: &idle, RSSBytes: &large},
		{Phase: string(PhaseSteady), Cores: &cores, RSSBytes: &rss},
		{Phase: string(PhaseDrain)},
	})
	want := observed.Cost{WallSeconds: 20, CPUSeconds: 5, Cores: 0.25, PeakCores: 1.5, PeakRSSBytes: 900}
	if c == nil || *c != want {
		t.Errorf("cost %+v, want %+v: the connect phase is not steady load", c, want)
	}
	if steadyCost(nil, nil) != nil {
		t.Error("a cost without readings")
	}
}

func TestHarnessCoresAreOfSteadyLoad(t *testing.T) {
	row := func(at float64, phase Phase, cores float64) rows.Timeline {
		return rows.Timeline{T: at, Phase: string(phase), HarnessCores: &cores}
	}
	lines := []rows.Timeline{row(-1, PhaseConnect, 9), row(0, PhaseWarmup, 9), row(1, PhaseSteady, 0.5), row(2, PhaseSteady, 0.3), row(2.5, PhaseDrain, 0.2)}
	got := harnessCores(lines)
	if want := (0.5 + 0.3) / 2; got == nil || math.Abs(*got-want) > 1e-9 {
		t.Errorf("got %v, want %g", got, want)
	}
	if got := harnessCores(lines[:2]); got != nil {
		t.Errorf("without steady load: %g", *got)
	}
}
