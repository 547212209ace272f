package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/file"
	"github.com/xdsbench/xdsbench/internal/self"
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
	at0, slope := stat.LinearRegression(x, y, nil, false)
	return line{at0: at0, slope: slope, r2: stat.RSquared(x, y, nil, at0, slope)}
}

// fit fits a figure of the points over their numbers of proxies.
func (s *series) fit(figure string) line {
	var x, y []float64
	for _, p := range s.points {
		x, y = append(x, float64(p.proxies)), append(y, p.values[figure])
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
	return (last.values[peakRSS] - first.values[peakRSS]) / float64(last.proxies-first.proxies)
}

// section is what the document shows.
func section(o *options, all []series) (string, error) {
	host, errHost := machine()
	d := &doc.Document{}
	s := d.Section("")
	s.Paragraph("Machine: " + host + ".")
	s.Paragraph("Each run:")
	s.Code("xdsbench " + strings.Join(o.arguments("S", "N"), " "))
	runs(s.Table(), all[1:])
	bare := s.Table().Right("bare streams", "CPU", "peak RSS")
	for _, p := range all[0].points {
		bare.Row(units.Count(p.proxies), units.Duration(p.values["harness.cpuSeconds"]), mebibytes(p.values[peakRSS]))
	}
	s.Paragraph("Peak RSS by the number of proxies (slope: between the smallest size and the largest up to 10,000; fit: least squares over all sizes):")
	memory(s.Table(), all)
	s.Paragraph("The harness's CPU by the number of proxies:")
	processor(s.Table(), all[1:])
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", beginMark)
	err := d.Markdown(&b)
	fmt.Fprintf(&b, "\n%s\n", endMark)
	return b.String(), errors.Join(errHost, err)
}

func mebibytes(bytes float64) string { return fmt.Sprintf("%.0f MiB", bytes/mib) }

// runs has a row per fleet.
func runs(t *doc.Table, fleets []series) {
	t.Left("services").Right("proxies", "ready", "p99 time to ready", "config per proxy", "deliveries", "undelivered", "last proxy p50",
		"harness CPU: sync", "steady", "harness peak RSS", "control plane CPU", "its peak RSS").Left("saturated")
	for _, s := range fleets {
		for _, p := range s.points {
			v := p.values
			t.Row(strings.TrimSuffix(s.name, " services"), units.Count(p.proxies), units.Amount(v["proxies.ready"], ""), units.Duration(v["sync.timeToReady.p99"]),
				fmt.Sprintf("%.0f KiB", v["sync.configBytesPerProxy.p50"]/kib), units.Amount(v[deliveries], ""), units.Amount(v["propagation.undelivered"], ""),
				units.Duration(v["propagation.lastProxy.p50"]), units.Duration(v[syncCPU]), units.Duration(v[steadyCPU]), mebibytes(v[peakRSS]),
				units.Duration(v["controlPlane.cpuSeconds"]), mebibytes(v["controlPlane.peakRSSBytes"]), strconv.FormatBool(p.saturated))
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
		sync, steady := fleets[i].fit(syncCPU), fleets[i].fit(steadyCPU)
		var each []string
		for _, p := range fleets[i].points {
			if n := p.values[deliveries]; n > 0 {
				each = append(each, units.Duration(p.values[steadyCPU]/n))
			}
		}
		t.Row(fleets[i].name, seconds(sync), fmt.Sprintf("%.4f", sync.r2), seconds(steady), fmt.Sprintf("%.4f", steady.r2), strings.Join(each, ", "))
	}
}

// seconds writes a fit of seconds over proxies.
func seconds(f line) string { return units.Duration(f.at0) + " + " + units.Duration(f.slope) + " x N" }

// machine describes where the figures come from.
func machine() (string, error) {
	e, err := self.Host()
	return fmt.Sprintf("%s, %s, %s, %s, %.0f GiB of memory", e.CPUModel, units.Plural(e.CPUs, "CPU", "CPUs"), e.OS, e.Versions["go"], float64(e.Memory)/kib/mib), err
}

// writeSection replaces the part of a document between the marks, or appends it.
func writeSection(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before, rest, found := strings.Cut(string(old), beginMark)
	_, after, closed := strings.Cut(rest, endMark+"\n")
	if found && !closed {
		return fmt.Errorf("%s: %q without %q: add it", path, beginMark, endMark)
	}
	return file.Write(path, func(w io.Writer) error {
		_, err := io.WriteString(w, before+text+after)
		return err
	})
}
