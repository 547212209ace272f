package faults

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

func TestNoFaultVariableMeansNoFaults(t *testing.T) {
	f, err := New(map[string]string{"PILOT_DEBOUNCE_AFTER": "1ms"})
	if f != nil || err != nil {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestBadFaultsAreAllNamed(t *testing.T) {
	_, err := parse(map[string]string{
		EnvDelay: "fast", EnvUnserved: "3%", EnvLost: "-1", EnvSeed: "x", EnvCPU: "-1ms",
		EnvLateClusters: "later", EnvUnanswered: "cds,sds", EnvTypes: "routes", EnvSilentHTTP: "true",
		prefix + "DELYA": "1ms",
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		EnvDelay + `="fast"`, EnvUnserved + `="3%"`, EnvLost + `="-1"`, EnvSeed + `="x"`, EnvCPU + `="-1ms"`,
		EnvLateClusters + `="later"`, EnvUnanswered + `="cds,sds"`, `"sds" must be a type`, EnvTypes + `="routes"`,
		EnvSilentHTTP + " has no effect without " + EnvSilentAfter,
		"DELYA", "there is no such fault", EnvOrder,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %s:\n%v", want, err)
		}
	}
}

func TestDelaysThatMakeNoSenseAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "5", "-1ms", "uniform(5ms,1ms)", "uniform(5ms)", "exponential(1ms,2ms)", "spread(1ms", "normal(1ms)", "1ms+", "2h",
	} {
		var d delay
		if err := d.set(text); err == nil {
			t.Errorf("%q was accepted: %+v", text, d)
		}
	}
}

func TestDelayIsTheSumOfItsTerms(t *testing.T) {
	var d delay
	if err := d.set("10ms + spread(100ms) + uniform(1ms, 3ms) + exponential(5ms)"); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var sum, least time.Duration = 0, time.Hour
	const n = 20_000
	for range n {
		v := d.draw(rng, 0.25)
		sum += v
		least = min(least, v)
	}
	if mean := sum / n; mean < 41*time.Millisecond || mean > 43*time.Millisecond {
		t.Errorf("mean %s, want 10 + 25 + 2 + 5 ms", mean)
	}
	if least < 36*time.Millisecond || least > 37*time.Millisecond {
		t.Errorf("least %s, want 10 + 25 + 1 ms", least)
	}
}

func TestChoiceDependsOnSeedAndKeyAlone(t *testing.T) {
	pick := func(seed uint64) []int {
		s := &settings{seed: seed}
		var out []int
		for i := range 10_000 {
			if s.chosen(0.03, EnvUnserved, strings.Repeat("x", i)) {
				out = append(out, i)
			}
		}
		return out
	}
	one, again, two := pick(1), pick(1), pick(2)
	if !slices.Equal(one, again) || slices.Equal(one, two) {
		t.Error("the choice does not follow the seed")
	}
	if len(one) < 200 || len(one) > 400 {
		t.Errorf("%d of 10000 chosen for a share of 0.03", len(one))
	}
}

func TestPreciseTimerCallsInOrderAndNeverEarly(t *testing.T) {
	timer := &preciseTimer{}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := timer.run(ctx); err != nil {
			t.Error(err)
		}
	})
	start := time.Now()
	var order []int
	var early int
	done := make(chan struct{})
	// The last is due first, which must wake the timer from a longer wait.
	for i, after := range []time.Duration{30, 20, 20, 5} {
		due := start.Add(after * time.Millisecond)
		timer.at(due, func() {
			order = append(order, i)
			if time.Now().Before(due) {
				early++
			}
			if len(order) == 4 {
				close(done)
			}
		})
	}
	<-done
	cancel()
	running.Wait()
	timer.at(start, func() { t.Error("called after the end") })
	if !slices.Equal(order, []int{3, 1, 2, 0}) || early > 0 {
		t.Errorf("order %v, %d early", order, early)
	}
}

func TestBurnSpendsTheCPUTimeAskedFor(t *testing.T) {
	f, err := New(map[string]string{EnvCPU: "2ms"})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if spent := f.Burn(); spent < 2*time.Millisecond {
			t.Errorf("spent %s", spent)
		}
	}
	if f.record.BurnedPushes != 5 || f.record.BurnedSeconds < 0.010 {
		t.Errorf("record %+v", f.record)
	}
}

// BenchmarkPreciseTimer says how late calls are that are due after a delay.
func BenchmarkPreciseTimer(b *testing.B) {
	timer := &preciseTimer{}
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = timer.run(ctx) })
	var late []time.Duration
	for b.Loop() {
		called := make(chan time.Duration)
		due := time.Now().Add(1300 * time.Microsecond)
		timer.at(due, func() { called <- time.Since(due) })
		late = append(late, <-called)
	}
	cancel()
	running.Wait()
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds()), "µs-late-p50")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds()), "µs-late-p99")
}

func TestUnansweredNamesTypesVariantsOrBoth(t *testing.T) {
	for value, want := range map[string][]string{
		"cds":            {"delta/cds", "sotw/cds"},
		"delta":          {"delta/cds", "delta/eds", "delta/lds", "delta/rds"},
		"sotw/cds":       {"sotw/cds"},
		"delta/rds, eds": {"delta/eds", "delta/rds", "sotw/eds"},
	} {
		f, err := New(map[string]string{EnvUnanswered: value})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, delta := range []bool{false, true} {
			for kind := range xds.TypeCount {
				if f.Unanswered(delta, kind) {
					got = append(got, streamType(delta, kind))
				}
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %v are not answered, want %v", value, got, want)
		}
	}
}
