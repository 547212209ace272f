package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
	"github.com/xdsbench/xdsbench/result/rows"
)

// series is one kind of fleet at several sizes.
type series struct {
	name   string
	points []point
}

// point is one run.
type point struct {
	proxies   int
	saturated bool
	// values are the result's metrics by name, with syncCPU and steadyCPU.
	values map[string]float64
}

// Metrics that are used in several places. The harness's CPU seconds until all
// proxies were ready, and in steady phase and drain, are no metrics of the result.
const (
	peakRSS    = "harness.peakRSSBytes"
	deliveries = "propagation.deliveries"
	syncCPU    = "sync CPU"
	steadyCPU  = "steady CPU"
)

func newPoint(proxies int, r *result.Result) point {
	p := point{proxies: proxies, values: make(map[string]float64), saturated: r.Harness != nil && r.Harness.Saturated}
	for _, v := range metric.Values(r) {
		p.values[v.Name] = v.Number
	}
	return p
}

// measureFleet runs a fleet of each size.
func (o *options) measureFleet(ctx context.Context, services int, log io.Writer) (series, error) {
	s := series{name: fmt.Sprintf("%d services", services)}
	for _, n := range o.sizes {
		dir := filepath.Join(o.dir, fmt.Sprintf("%d-services-%d-proxies", services, n))
		r, err := result.Load(dir)
		if errors.Is(err, result.ErrNoResult) {
			if o.saved {
				continue
			}
			fmt.Fprintf(log, "%d services, %d proxies\n", services, n)
			if err = o.runFleet(ctx, services, n, dir); err == nil {
				r, err = result.Load(dir)
			}
		}
		if err != nil {
			return s, fmt.Errorf("%d services, %d proxies: %w", services, n, err)
		}
		if r.Partial {
			return s, fmt.Errorf("%s: the run was interrupted: remove the folder", dir)
		}
		p := newPoint(n, r)
		p.values[syncCPU], p.values[steadyCPU], err = splitCPU(filepath.Join(dir, rows.TimelineFile))
		if err != nil {
			return s, err
		}
		s.points = append(s.points, p)
	}
	return s, nil
}

// arguments are those of the runs; the document shows them.
func (o *options) arguments(services, proxies string) []string {
	return []string{
		"run", "quickstart", "--quiet", "--proxies", proxies, "--set", "mesh.services=" + services,
		"--set", fmt.Sprintf("proxies.connectRate=%g/s", o.rate),
		"--set", "target.priority=idle", "--set", `churn=[{"kind":"readiness-flap","rate":"1/s"}]`, "--duration", o.duration.String(),
	}
}

func (o *options) runFleet(ctx context.Context, services, proxies int, dir string) error {
	args := append(o.arguments(strconv.Itoa(services), strconv.Itoa(proxies)), "-o", dir)
	c := exec.CommandContext(ctx, o.xdsbench, args...)
	c.Stderr = os.Stderr
	// Interrupted, it stops its control plane too.
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	return c.Run()
}

// splitCPU sums the harness's CPU seconds by phase.
func splitCPU(file string) (sync, steady float64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, 0, err
	}
	all, err := csv.NewReader(f).ReadAll()
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", file, err)
	}
	column := make(map[string]int)
	for i, name := range all[0] {
		column[name] = i
	}
	last := 0.0
	for i, row := range all[1:] {
		at, err := strconv.ParseFloat(row[column["t"]], 64)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", file, err)
		}
		cores, err := strconv.ParseFloat(row[column["harness_cores"]], 64)
		if err == nil && i > 0 {
			switch row[column["phase"]] {
			case "connect":
				sync += cores * (at - last)
			case "steady", "drain":
				steady += cores * (at - last)
			}
		}
		last = at
	}
	return sync, steady, nil
}
