package report

import (
	"maps"
	"slices"

	"github.com/xdsbench/xdsbench/result"
)

func propagation(p *result.Propagation) table {
	t := table{title: "Propagation", head: []string{"from the intended time", "count", "p50", "p90", "p99", "max"}}
	if p == nil {
		return t
	}
	for _, row := range []struct {
		label string
		d     *result.Distribution
	}{
		{"every proxy", p.All},
		{"first proxy", p.FirstProxy},
		{"last proxy", p.LastProxy},
		{"first to last", p.Spread},
		{"every, from the ack", p.FromAck},
		{"every, to arrival", p.Arrived},
	} {
		if row.d != nil {
			t.rows = append(t.rows, append([]string{row.label, count(row.d.Count)}, quantiles(row.d, span)...))
		}
	}
	return t
}

func volume(v *result.Volume) table {
	t := table{title: "Volume", head: []string{"variant, type", "responses", "resources", "removed", "bytes"}}
	if v == nil {
		return t
	}
	for _, variant := range slices.Sorted(maps.Keys(v.ByVariant)) {
		of := v.ByVariant[variant]
		for _, typ := range slices.Sorted(maps.Keys(of.ByType)) {
			t.rows = append(t.rows, trafficRow(variant+" "+typ, of.ByType[typ]))
		}
	}
	if v.WireBytes != nil && len(t.rows) > 0 {
		t.rows = append(t.rows, []string{"on the wire", "", "", "", size(float64(v.WireBytes.In))})
	}
	return t
}

func trafficRow(label string, t result.Traffic) []string {
	return []string{label, count(t.Responses), count(t.Resources), count(t.Removed), size(float64(t.Bytes))}
}
