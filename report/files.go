package report

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/internal/file"
	"github.com/xdsbench/xdsbench/result"
)

// The files that Files writes.
const (
	MarkdownFile = "report.md"
	LatencyFile  = "latency.hlog"
)

// Files writes the reports that belong beside a saved result.
func Files(dir string, r *result.Result) error {
	d, err := Document(r, "")
	if err != nil {
		return err
	}
	return errors.Join(
		file.Write(filepath.Join(dir, MarkdownFile), d.Markdown),
		file.Write(filepath.Join(dir, LatencyFile), func(w io.Writer) error { return Histograms(w, r) }),
	)
}

// Histograms writes the distributions of times as an HdrHistogram log, version
// 1.3: one interval, the whole run, per tag. Values are nanoseconds, maxima
// milliseconds.
func Histograms(w io.Writer, r *result.Result) error {
	start, err := startOf(r)
	if err != nil {
		return err
	}
	log := hdrhistogram.NewHistogramLogWriter(w)
	log.SetBaseTime(start.UnixMilli())
	if err := errors.Join(
		log.OutputComment("[Logged with xdsbench]"), log.OutputLogFormatVersion(),
		log.OutputStartTime(start.UnixMilli()), log.OutputBaseTime(start.UnixMilli()), log.OutputLegend(),
	); err != nil {
		return fmt.Errorf("writing a histogram log: %w", err)
	}
	for _, x := range distributions(r) {
		if x.d == nil {
			continue
		}
		h, err := x.d.Decode()
		if err != nil {
			return fmt.Errorf("%s: %w", x.tag, err)
		}
		h.SetTag(x.tag)
		h.SetStartTimeMs(start.UnixMilli())
		h.SetEndTimeMs(start.Add(length(r)).UnixMilli())
		if err := log.OutputIntervalHistogram(h); err != nil {
			return fmt.Errorf("writing a histogram log: %w", err)
		}
	}
	return nil
}

type tagged struct {
	tag string
	d   *result.Distribution
}

// distributions lists the distributions of times that a result may have.
func distributions(r *result.Result) []tagged {
	var all []tagged
	if p := r.Propagation; p != nil {
		all = append(all, tagged{"propagation.all", p.All}, tagged{"propagation.fromAck", p.FromAck},
			tagged{"propagation.firstProxy", p.FirstProxy}, tagged{"propagation.lastProxy", p.LastProxy},
			tagged{"propagation.spread", p.Spread}, tagged{"propagation.arrived", p.Arrived},
			tagged{"propagation.lastArrived", p.LastArrived})
	}
	if s := r.Sync; s != nil {
		all = append(all, tagged{"sync.timeToReady", s.TimeToReady})
	}
	if h := r.Harness; h != nil {
		all = append(all, tagged{"harness.scheduleLag", h.ScheduleLag}, tagged{"harness.stampLag", h.StampLag})
	}
	return all
}

// startOf returns the wall-clock start of the run; the epoch if it is not known.
func startOf(r *result.Result) (time.Time, error) {
	if r.Environment == nil || r.Environment.StartedAt == "" {
		return time.Unix(0, 0), nil
	}
	start, err := time.Parse(time.RFC3339, r.Environment.StartedAt)
	if err != nil {
		return start, fmt.Errorf("the result's environment.startedAt: %w", err)
	}
	return start, nil
}

// length returns how long the run was, as far as it is known.
func length(r *result.Result) time.Duration {
	if r.Harness == nil || r.Harness.WallSeconds == nil {
		return 0
	}
	return time.Duration(*r.Harness.WallSeconds * float64(time.Second))
}
