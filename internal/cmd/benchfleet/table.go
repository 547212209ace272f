package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
)

const (
	kib = 1 << 10
	mib = 1 << 20

	beginMark = "<!-- bench-fleet: begin (written by make bench-fleet) -->"
	endMark   = "<!-- bench-fleet: end -->"
)

// line is a least-squares fit of y = at0 + slope*x, with the coefficient of
// determination.
type line struct{ at0, slope, r2 float64 }

func fit(x, y []float64) line {
	n := float64(len(x))
	var sx, sy float64
	for i := range x {
		sx += x[i]
		sy += y[i]
	}
	mx, my := sx/n, sy/n
	var sxx, sxy, syy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
		syy += (y[i] - my) * (y[i] - my)
	}
	if sxx == 0 || syy == 0 {
		return line{at0: my, r2: math.NaN()}
	}
	slope := sxy / sxx
	return line{at0: my - slope*mx, slope: slope, r2: sxy * sxy / (sxx * syy)}
}

// fit fits a figure of the points over their numbers of proxies.
func (s *series) fit(figure func(*point) float64) line {
	var x, y []float64
	for i := range s.points {
		x = append(x, float64(s.points[i].proxies))
		y = append(y, figure(&s.points[i]))
	}
	return fit(x, y)
}

// slope is the growth of the peak of resident memory per proxy, from the
// smallest size to the largest that is at most 10,000.
func (s *series) slope() float64 {
	first, last := s.points[0], s.points[0]
	for _, p := range s.points {
		if p.proxies <= 10_000 {
			last = p
		}
	}
	return float64(last.harness.PeakRSSBytes-first.harness.PeakRSSBytes) / float64(last.proxies-first.proxies)
}

func peakRSS(p *point) float64 { return float64(p.harness.PeakRSSBytes) }

// section is what the document shows.
func section(o *options, all []series) (string, error) {
	d := &doc.Document{}
	s := d.Section("")
	s.Paragraph("Machine: " + machine() + ".")
	s.Paragraph("Each run:")
	s.Code("xdsbench " + strings.Join(o.arguments("S", "N"), " "))
	runs(s.Table(), all[1:])
	bare := s.Table().Right("bare streams", "CPU", "peak RSS")
	for _, p := range all[0].points {
		bare.Row(units.Count(p.proxies), units.Duration(p.harness.CPUSeconds), mebibytes(p.harness.PeakRSSBytes))
	}
	s.Paragraph("Peak RSS by the number of proxies (slope: between the smallest size and the largest up to 10,000; fit: least squares over all sizes):")
	memory(s.Table(), all)
	s.Paragraph("The harness's CPU by the number of proxies:")
	processor(s.Table(), all[1:])
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", beginMark)
	err := d.Markdown(&b)
	fmt.Fprintf(&b, "\n%s\n", endMark)
	return b.String(), err
}

func mebibytes[N int64 | float64](bytes N) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/mib) }

// runs has a row per fleet.
func runs(t *doc.Table, fleets []series) {
	t.Left("services").Right("proxies", "ready", "p99 time to ready", "config per proxy", "deliveries", "undelivered", "last proxy p50",
		"harness CPU: sync", "steady", "harness peak RSS", "control plane CPU", "its peak RSS").Left("saturated")
	for _, s := range fleets {
		for _, p := range s.points {
			t.Row(strings.TrimSuffix(s.name, " services"), units.Count(p.proxies), units.Count(p.ready), units.Duration(p.readyP99),
				fmt.Sprintf("%.0f KiB", p.configBytes/kib), units.Count(p.deliveries), units.Count(p.undelivered), units.Duration(p.lastP50),
				units.Duration(p.syncCPU), units.Duration(p.steadyCPU), mebibytes(p.harness.PeakRSSBytes),
				units.Duration(p.controlPlane.CPUSeconds), mebibytes(p.controlPlane.PeakRSSBytes), strconv.FormatBool(p.saturated))
		}
	}
}

// memory shows the slopes and fits of memory.
func memory(t *doc.Table, all []series) {
	t.Left("").Right("slope per proxy", "x bare", "fit", "R²")
	for i := range all {
		f := all[i].fit(peakRSS)
		t.Row(all[i].name, fmt.Sprintf("%.1f KiB", all[i].slope()/kib), fmt.Sprintf("%.2f", all[i].slope()/all[0].slope()),
			fmt.Sprintf("%s + %.1f KiB x N", mebibytes(f.at0), f.slope/kib), fmt.Sprintf("%.4f", f.r2))
	}
}

// processor shows the fits of processor time.
func processor(t *doc.Table, fleets []series) {
	t.Left("").Right("sync, fit", "R²", "steady, fit", "R²").Left("steady CPU per delivery, by size")
	for i := range fleets {
		sync := fleets[i].fit(func(p *point) float64 { return p.syncCPU })
		steady := fleets[i].fit(func(p *point) float64 { return p.steadyCPU })
		var each []string
		for _, p := range fleets[i].points {
			if p.deliveries > 0 {
				each = append(each, units.Duration(p.steadyCPU/float64(p.deliveries)))
			}
		}
		t.Row(fleets[i].name, seconds(sync), fmt.Sprintf("%.4f", sync.r2), seconds(steady), fmt.Sprintf("%.4f", steady.r2), strings.Join(each, ", "))
	}
}

// seconds writes a fit of seconds over proxies.
func seconds(f line) string { return units.Duration(f.at0) + " + " + units.Duration(f.slope) + " x N" }

// machine describes where the figures come from.
func machine() string {
	text := fmt.Sprintf("%d CPUs, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return text
	}
	if cpus, err := proc.CPUInfo(); err == nil && len(cpus) > 0 {
		text = cpus[0].ModelName + ", " + text
	}
	if m, err := proc.Meminfo(); err == nil && m.MemTotalBytes != nil {
		text += fmt.Sprintf(", %.0f GiB of memory", float64(*m.MemTotalBytes)/kib/mib)
	}
	return text
}

// writeSection replaces the part of a document between the marks, or appends it.
func writeSection(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before, rest, found := strings.Cut(string(old), beginMark)
	_, after, closed := strings.Cut(rest, endMark+"\n")
	if found && !closed {
		return fmt.Errorf("%s: %q without %q: add it", file, beginMark, endMark)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	_, err = w.WriteString(before + text + after)
	return errors.Join(err, w.Flush(), f.Close())
}
