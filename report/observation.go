package report

import (
	"maps"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/result/observed"
)

// smallPart is the share below which a part of a profile is not listed.
const smallPart = 0.005

// stages is the table of where the time went.
func stages(c *observed.ControlPlane) table {
	t := table{title: "Stages", head: []string{"from mutation to proxy", "source", "p50", "±", "p99", "mean", "share"}}
	if c == nil || c.Stages == nil {
		return t
	}
	s := c.Stages
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
		{"all, to receipt", s.Total},
		{"ACK, after it", s.Ack},
	} {
		if row.stage != nil {
			t.rows = append(t.rows, stageRow(row.label, row.stage))
		}
	}
	return t
}

func stageRow(label string, s *observed.Stage) []string {
	width, p99 := "", span(s.P99)
	if s.Width > 0 {
		width = span(s.Width)
	}
	switch {
	case s.Source == observed.SourceEstimated && s.P99 == 0:
		p99 = ""
	case s.Beyond:
		p99 = "over " + p99
	}
	return []string{label, s.Source, span(s.P50), width, p99, span(s.Mean), percent(s.Share)}
}

func percent(share float64) string { return digits(100*share) + " %" }

// profileTables have a row per part, with its share of each profile.
func profileTables(c *observed.ControlPlane) []table {
	if c == nil {
		return nil
	}
	var tables []table
	for i := range c.Profiles {
		p := &c.Profiles[i]
		if len(p.Parts) == 0 || p.Kind == "goroutine" {
			continue
		}
		t := table{title: profileTitle(p), head: []string{"part", "share", "largest function"}}
		for _, part := range partsBySize(p.Parts) {
			if p.Parts[part] >= smallPart {
				t.rows = append(t.rows, []string{partName(part), percent(p.Parts[part]), topOf(p, part)})
			}
		}
		tables = append(tables, t)
	}
	return tables
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
	names := slices.Sorted(maps.Keys(parts))
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case parts[a] > parts[b]:
			return -1
		case parts[a] < parts[b]:
			return 1
		}
		return 0
	})
	return names
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
			return shortName(f.Function) + " " + percent(f.Share)
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
