package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result/observed"
)

// smallPart is the share below which a part of a profile is not listed.
const smallPart = 0.005

// stages is the table of where the time went.
func stages(section *doc.Section, c *observed.ControlPlane) {
	if c == nil || c.Stages == nil {
		return
	}
	t := section.Table().Left("from mutation to proxy", "source").Right("p50", "p99", "mean", "share")
	s, above := c.Stages, false
	for _, row := range []struct {
		label string
		stage *observed.Stage
	}{
		{"schedule lag", s.Schedule},
		{"API write", s.Write},
		{"watch, informers", s.Watch},
		{"debounce", s.Debounce},
		{"push context", s.PushContext},
		{"push queue", s.Queue},
		{"generation", s.Push},
		{"send", s.Send},
		{"transport, wire", s.Wire},
		{"receive", s.Receive},
		{"unattributed", s.Unattributed},
		{"all, to receipt", s.Total},
		{"ACK, after it", s.Ack},
	} {
		if row.stage != nil {
			t.Row(stageRow(row.label, row.stage, s.Overlap != nil && row.stage != s.Ack)...)
			above = above || open(row.stage.P50Bucket) || open(row.stage.P99Bucket)
		}
	}
	if s.Overlap != nil {
		section.Paragraph("The stages overlap by " + units.Duration(*s.Overlap) + " of the mean: some of the time is counted in two of them, or is of pushes that no measured delivery was part of. What they leave is unattributed.")
	}
	if above {
		section.Paragraph("What is over the slowest delivery is of pushes that no measured delivery was part of.")
	}
}

// open reports whether a bucket has no upper edge.
func open(b *observed.Bucket) bool { return b != nil && b.High == nil }

func stageRow(label string, s *observed.Stage, overlapping bool) []string {
	share := ""
	switch {
	case s.Share != nil:
		share = units.Percent(*s.Share)
	case overlapping:
		share = "overlaps"
	}
	return []string{
		label, s.Source, stageQuantile(s.P50, s.P50Bucket, s.Mark("p50")), stageQuantile(s.P99, s.P99Bucket, s.Mark("p99")),
		units.Duration(s.Mean), share,
	}
}

// hotspots has a section for each profile of the control plane, with its parts' shares.
func hotspots(d *doc.Document, c *observed.ControlPlane) {
	if c == nil {
		return
	}
	for i := range c.Profiles {
		p := &c.Profiles[i]
		if p.Kind == "goroutine" {
			continue
		}
		t := d.Section(profileTitle(p)).Table().Left("part").Right("share").Left("largest function")
		for _, part := range partsBySize(p.Parts) {
			if p.Parts[part] >= smallPart {
				t.Row(partName(part), units.Percent(p.Parts[part]), topOf(p, part))
			}
		}
	}
}

func profileTitle(p *observed.ProfileSummary) string {
	switch p.Kind {
	case "cpu":
		return "CPU profile"
	case "heap":
		return "Heap in use"
	case "allocs":
		return "Allocated"
	case "mutex":
		return "Lock waits"
	case "block":
		return "Blocked"
	}
	return p.Kind
}

func partsBySize(parts map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(parts), func(a, b string) int {
		return cmp.Or(cmp.Compare(parts[b], parts[a]), strings.Compare(a, b))
	})
}

// partName says what a part is; see the package hotspot for the list.
func partName(part string) string {
	if name, ok := map[string]string{
		"proto": "protobuf", "eds": "EDS generation", "cds": "CDS generation", "lds": "LDS generation",
		"rds": "RDS generation", "pushContext": "push context", "informers": "Kubernetes informers",
		"pushes": "push queue, requests", "grpc": "gRPC, HTTP/2, TLS", "gc": "garbage collection",
		"syscalls": "system calls", "scheduler": "Go scheduler", "metrics": "metrics, debug, logs",
	}[part]; ok {
		return name
	}
	return part
}

// topOf names the part's function with the largest share of its own.
func topOf(p *observed.ProfileSummary, part string) string {
	for _, f := range p.Top {
		if f.Part == part {
			return shortName(f.Function) + " " + units.Percent(f.Share)
		}
	}
	return ""
}

// shortName is a function's name without its package's path and its type
// arguments, which have paths of their own.
func shortName(function string) string {
	if open, end := strings.IndexByte(function, '['), strings.LastIndexByte(function, ']'); open >= 0 && end > open {
		function = function[:open] + function[end+1:]
	}
	return function[strings.LastIndexByte(function, '/')+1:]
}
