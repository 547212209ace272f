package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
	"github.com/xdsbench/xdsbench/result/rows"
)

func TestRunObservesTheControlPlane(t *testing.T) {
	t.Parallel()
	dir := out(t)
	code, stdout, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", dir,
		"--set", "pprof.cpu=2s", "--set", "pprof.heap=true", "--set", "pprof.goroutine=true", "--set", "pprof.trace=1s")
	if code != exitDone {
		t.Fatalf("exit %d:\n%s%s", code, stdout, stderr)
	}
	r := load(t, dir)
	checkStages(t, r.ControlPlane.Stages)
	checkTimeline(t, filepath.Join(dir, rows.TimelineFile), r)
	var kinds []string
	for _, p := range r.ControlPlane.Profiles {
		kinds = append(kinds, p.Kind)
		if info, err := os.Stat(filepath.Join(dir, p.File)); err != nil || info.Size() == 0 {
			t.Errorf("profile %s: %v", p.Kind, err)
		}
	}
	if want := []string{"cpu", "trace", "heap", "allocs", "goroutine"}; !slices.Equal(kinds, want) {
		t.Errorf("profiles %q, want %q; warnings %q", kinds, want, r.Warnings)
	}
	if c := r.ControlPlane; len(c.Missing) > 0 || c.Steady == nil || c.Steady.CPUSeconds <= 0 || c.Signals.Traffic["pilot_xds_pushes"] <= 0 {
		t.Errorf("missing %q, cost %+v, signals %+v", c.Missing, c.Steady, c.Signals)
	}
	for _, want := range []string{"debounce", "push queue", "estimated"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the summary does not say %q:\n%s", want, stdout)
		}
	}
}

// checkStages checks that the stages are all there and add up.
func checkStages(t *testing.T, s *observed.Stages) {
	t.Helper()
	if s == nil {
		t.Fatal("no stages")
	}
	mean, overlap := 0.0, 0.0
	rest := []*observed.Stage{s.Watch, s.Wire}
	if s.Overlap != nil { // on a busy machine
		rest, overlap = []*observed.Stage{s.Unattributed}, *s.Overlap
	}
	for _, x := range append(rest, s.Schedule, s.Write, s.Debounce, s.Queue, s.Push, s.Send, s.Receive) {
		if x == nil {
			t.Fatalf("a stage is missing: %+v", s)
		}
		mean += x.Mean
	}
	if s.PushContext != nil { // the embedded control plane builds one for full pushes only
		mean += s.PushContext.Mean
	}
	if over := mean - s.Total.Mean; over < -1e-6 || over > overlap+1e-6 {
		t.Errorf("the stages add up to %v s, the whole is %v s", mean, s.Total.Mean)
	}
	if s.Debounce.Mean < 0.09 || s.Debounce.Mean > 1.2*s.Total.Mean {
		t.Errorf("debounce %v s of %v s, want the 100 ms that it waits, or more", s.Debounce.Mean, s.Total.Mean)
	}
}

// checkTimeline checks that the timeline's lines add up to the result.
func checkTimeline(t *testing.T, file string, r *result.Result) {
	t.Helper()
	rows := readCSV(t, file)
	sum := func(column string) (total float64) {
		i := slices.Index(rows[0], column)
		for _, row := range rows[1:] {
			if row[i] != "" {
				x, err := strconv.ParseFloat(row[i], 64)
				if err != nil {
					t.Fatal(err)
				}
				total += x
			}
		}
		return total
	}
	if got := sum("deliveries"); got != float64(r.Propagation.Deliveries-r.Propagation.Unobserved) {
		t.Errorf("deliveries in the timeline: %v, in the result: %d", got, r.Propagation.Deliveries)
	}
	if got := sum("mutations"); got != float64(r.Mutations.Applied) {
		t.Errorf("mutations in the timeline: %v, in the result: %d", got, r.Mutations.Applied)
	}
	if len(rows) < 7 || sum("cores") <= 0 || sum("pushes") <= 0 || sum("harness_cores") <= 0 {
		t.Errorf("timeline: %q", rows)
	}
}

func TestProfilesThatDoNotFitIntoTheRunAreRefused(t *testing.T) {
	code, _, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", out(t), "--set", "pprof.cpu=10s")
	if code != exitUsage || !strings.Contains(stderr, "pprof.cpu") {
		t.Errorf("exit %d, want %d:\n%s", code, exitUsage, stderr)
	}
}
