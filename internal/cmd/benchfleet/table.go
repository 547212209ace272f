package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
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
func section(o *options, all []series) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nMachine: %s.\n\n", beginMark, machine())
	fmt.Fprintf(&b, "Each run: `xdsbench %s`.\n", strings.Join(o.arguments("S", "N"), " "))
	fmt.Fprintf(&b, "\n| services | proxies | ready | p99 time to ready | config per proxy | deliveries | undelivered | last proxy p50 | harness CPU: sync | steady | harness peak RSS | control plane CPU | its peak RSS | saturated |\n")
	fmt.Fprintf(&b, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range all[1:] {
		for _, p := range s.points {
			fmt.Fprintf(&b, "| %s | %d | %d | %.0f ms | %.0f KiB | %d | %d | %.0f ms | %.1f s | %.1f s | %.0f MiB | %.1f s | %.0f MiB | %t |\n",
				strings.TrimSuffix(s.name, " services"), p.proxies, p.ready, p.readyP99*1e3, p.configBytes/kib, p.deliveries, p.undelivered, p.lastP50*1e3,
				p.syncCPU, p.steadyCPU, float64(p.harness.PeakRSSBytes)/mib, p.controlPlane.CPUSeconds,
				float64(p.controlPlane.PeakRSSBytes)/mib, p.saturated)
		}
	}
	fmt.Fprintf(&b, "\n| bare streams | CPU | peak RSS |\n|---|---|---|\n")
	for _, p := range all[0].points {
		fmt.Fprintf(&b, "| %d | %.1f s | %.0f MiB |\n", p.proxies, p.harness.CPUSeconds, float64(p.harness.PeakRSSBytes)/mib)
	}
	memory(&b, all)
	processor(&b, all[1:])
	fmt.Fprintf(&b, "\n%s\n", endMark)
	return b.String()
}

// memory shows the slopes and fits of memory.
func memory(b *strings.Builder, all []series) {
	bare := all[0].slope()
	fmt.Fprintf(b, "\nPeak RSS by the number of proxies (slope: between the smallest size and the largest up to 10,000; fit: least squares over all sizes):\n\n")
	fmt.Fprintf(b, "| | slope per proxy | x bare | fit | R² |\n|---|---|---|---|---|\n")
	for i := range all {
		f := all[i].fit(peakRSS)
		fmt.Fprintf(b, "| %s | %.1f KiB | %.2f | %.0f MiB + %.1f KiB x N | %.4f |\n",
			all[i].name, all[i].slope()/kib, all[i].slope()/bare, f.at0/mib, f.slope/kib, f.r2)
	}
}

// processor shows the fits of processor time.
func processor(b *strings.Builder, fleets []series) {
	fmt.Fprintf(b, "\nThe harness's CPU by the number of proxies:\n\n")
	fmt.Fprintf(b, "| | sync, fit | R² | steady, fit | R² | steady CPU per delivery, by size |\n|---|---|---|---|---|---|\n")
	for i := range fleets {
		sync := fleets[i].fit(func(p *point) float64 { return p.syncCPU })
		steady := fleets[i].fit(func(p *point) float64 { return p.steadyCPU })
		var each []string
		for _, p := range fleets[i].points {
			if p.deliveries > 0 {
				each = append(each, fmt.Sprintf("%.0f µs", p.steadyCPU/float64(p.deliveries)*1e6))
			}
		}
		fmt.Fprintf(b, "| %s | %.1f s + %.2f ms x N | %.4f | %.1f s + %.2f ms x N | %.4f | %s |\n", fleets[i].name,
			sync.at0, sync.slope*1e3, sync.r2, steady.at0, steady.slope*1e3, steady.r2, strings.Join(each, ", "))
	}
}

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
