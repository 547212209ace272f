package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// series is one kind of fleet at several sizes.
type series struct {
	name   string
	points []point
}

// point is one run.
type point struct {
	proxies      int
	harness      usage
	controlPlane usage
	ready        int
	configBytes  float64 // per proxy
	readyP99     float64 // seconds
	deliveries   int64
	undelivered  int64
	lastP50      float64 // seconds, from scheduled to the last proxy
	saturated    bool
	syncCPU      float64 // seconds of the harness until all were ready
	steadyCPU    float64 // seconds of the harness in steady phase and drain
}

// result is the part of result.json that is needed.
type result struct {
	Partial bool `json:"partial"`
	Proxies struct {
		Ready int `json:"ready"`
	} `json:"proxies"`
	Sync struct {
		TimeToReady struct {
			P99 float64 `json:"p99"`
		} `json:"timeToReady"`
		ConfigBytesPerProxy struct {
			P50 float64 `json:"p50"`
		} `json:"configBytesPerProxy"`
	} `json:"sync"`
	Propagation struct {
		Deliveries  int64 `json:"deliveries"`
		Undelivered int64 `json:"undelivered"`
		LastProxy   struct {
			P50 float64 `json:"p50"`
		} `json:"lastProxy"`
	} `json:"propagation"`
	ControlPlane usage `json:"controlPlane"`
	Harness      struct {
		usage
		Saturated bool `json:"saturated"`
	} `json:"harness"`
}

// measureFleet runs a fleet of each size.
func (o *options) measureFleet(ctx context.Context, services int, log io.Writer) (series, error) {
	s := series{name: fmt.Sprintf("%d services", services)}
	for _, n := range o.sizes {
		dir := o.folder(services, n)
		if _, err := os.Stat(filepath.Join(dir, "result.json")); errors.Is(err, fs.ErrNotExist) {
			if o.saved {
				continue
			}
			fmt.Fprintf(log, "%d services, %d proxies\n", services, n)
			if err := o.runFleet(ctx, services, n, dir); err != nil {
				return s, fmt.Errorf("%d services, %d proxies: %w", services, n, err)
			}
		}
		p, err := readPoint(dir, n)
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

func readPoint(dir string, proxies int) (point, error) {
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		return point{}, err
	}
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return point{}, fmt.Errorf("%s: %w", dir, err)
	}
	if r.Partial {
		return point{}, fmt.Errorf("%s: the run was cut short: remove the folder", dir)
	}
	p := point{
		proxies: proxies, harness: r.Harness.usage, controlPlane: r.ControlPlane, ready: r.Proxies.Ready,
		configBytes: r.Sync.ConfigBytesPerProxy.P50, readyP99: r.Sync.TimeToReady.P99,
		deliveries: r.Propagation.Deliveries, undelivered: r.Propagation.Undelivered,
		lastP50: r.Propagation.LastProxy.P50, saturated: r.Harness.Saturated,
	}
	p.syncCPU, p.steadyCPU, err = splitCPU(filepath.Join(dir, "timeline.csv"))
	return p, err
}

// splitCPU sums the harness's CPU seconds by phase.
func splitCPU(file string) (sync, steady float64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, 0, err
	}
	rows, err := csv.NewReader(f).ReadAll()
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", file, err)
	}
	column := make(map[string]int)
	for i, name := range rows[0] {
		column[name] = i
	}
	last := 0.0
	for i, row := range rows[1:] {
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
