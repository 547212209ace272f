package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
	"github.com/xdsbench/xdsbench/result/observed"
)

func slo(t *doc.Table, all []result.SLO) {
	t.Code("metric").Right("value").Left("limit", "")
	for _, s := range all {
		value := "not measured"
		if s.Value != nil {
			value = marked(units.Amount(*s.Value, s.Unit), s.Note)
		}
		if s.Pass {
			t.Row(s.Metric, value, s.Limit, "kept").Mark(3, doc.Good)
		} else {
			t.Row(s.Metric, value, s.Limit, "missed").Mark(3, doc.Bad)
		}
	}
}

// answer has the metrics that the profile is run for.
func answer(t *doc.Table, r *result.Result, p *profile) {
	if len(p.Answer) == 0 {
		return
	}
	values := metric.Values(r)
	t.Left("").Right("value").Code("metric")
	for _, a := range p.Answer {
		found := false
		for _, v := range values {
			if metric.Match(a.Metric, v.Name) {
				t.Row(a.Says, marked(units.Amount(v.Number, v.Unit), v.Note), v.Name)
				found = true
			}
		}
		if !found {
			t.Row(a.Says, "not measured", a.Metric)
		}
	}
}

func propagation(t *doc.Table, p *result.Propagation) {
	if p == nil {
		return
	}
	t.Left("from the scheduled time").Right("count", "p50", "p90", "p99", "max")
	for _, row := range []struct {
		label string
		d     *result.Distribution
	}{
		{"every proxy", p.All},
		{"first proxy", p.FirstProxy},
		{"last proxy", p.LastProxy},
		{"first to last", p.Spread},
		{"every proxy, from ack", p.FromAck},
		{"every proxy, to arrival", p.Arrived},
	} {
		if d := row.d; d != nil {
			t.Row(row.label, units.Count(d.Count), marked(units.Duration(d.P50), d.Mark("p50")), marked(units.Duration(d.P90), d.Mark("p90")),
				marked(units.Duration(d.P99), d.Mark("p99")), units.Duration(d.Max))
		}
	}
}

func volume(t *doc.Table, v *result.Volume) {
	if v == nil {
		return
	}
	t.Left("variant, type").Right("responses", "resources", "removed", "bytes")
	rows := false
	for _, variant := range slices.Sorted(maps.Keys(v.ByVariant)) {
		of := v.ByVariant[variant]
		for _, typ := range slices.Sorted(maps.Keys(of.ByType)) {
			x := of.ByType[typ]
			t.Row(variant+" "+typ, units.Count(x.Responses), units.Count(x.Resources), units.Count(x.Removed), units.Bytes(x.Bytes))
			rows = true
		}
	}
	if v.WireBytes != nil && rows {
		t.Row("on the wire", "", "", "", units.Bytes(v.WireBytes.In))
	}
}

// replicas is the table of several replicas.
func replicas(t *doc.Table, c *observed.ControlPlane) {
	if c == nil {
		return
	}
	t.Left("connections").Right("steady", "fewest", "most", "end", "responses", "delivered", "undelivered", "diverged", "p50", "p99", "CPU", "peak RSS")
	for i := range c.Replicas {
		x := &c.Replicas[i]
		rss := ""
		if x.PeakRSSBytes != nil {
			rss = units.Bytes(*x.PeakRSSBytes)
		}
		label := fmt.Sprintf("%d at %s", i, x.Address)
		if x.Restarted {
			label += ", restarted"
		}
		t.Row(label, units.Count(x.ConnectionsAtSteadyStart), units.Count(x.ConnectionsMin), units.Count(x.ConnectionsMax),
			units.Count(x.ConnectionsAtEnd), units.Count(x.Responses),
			count(x.Deliveries), count(x.Undelivered), count(x.Diverged), duration(x.P50), duration(x.P99), duration(x.CPUSeconds), rss)
	}
}

// count and duration leave a cell empty where there is no figure.
func count[N int | int64](n *N) string {
	if n == nil {
		return ""
	}
	return units.Count(*n)
}

func duration(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	return units.Duration(*seconds)
}
