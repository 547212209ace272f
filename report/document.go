package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// document is a result in words, before it has a format.
type document struct {
	verdict  verdict
	headline string
	facts    []fact
	tables   []table
	slo      []sloLine
	notes    []fact // warnings, errors and reasons, one line each
}

// fact is a short labelled statement.
type fact struct{ label, text string }

// table has a label in each row's first cell.
type table struct {
	title string
	head  []string
	rows  [][]string
}

type sloLine struct {
	pass                 bool
	metric, value, limit string
}

// profile is what a report says of the profile; it reads nothing else of it.
type profile struct {
	Name string `json:"name"`
	Seed uint64 `json:"seed"`
	Mesh struct {
		Namespaces          int `json:"namespaces"`
		Services            int `json:"services"`
		EndpointsPerService int `json:"endpointsPerService"`
	} `json:"mesh"`
	Phases struct {
		Steady string `json:"steady"`
	} `json:"phases"`
}

func describe(r *result.Result) (*document, error) {
	var p profile
	if len(r.Profile) > 0 {
		if err := json.Unmarshal(r.Profile, &p); err != nil {
			return nil, fmt.Errorf("the result's profile: %w", err)
		}
	}
	d := &document{verdict: judge(r)}
	d.headline = headline(r, d.verdict, p.Name)
	d.fact("Target", target(r))
	d.fact("Mesh", meshText(&p))
	d.fact("Proxies", proxies(r.Proxies))
	d.fact("Sync", syncText(r.Sync))
	d.fact("Mutations", mutations(r.Mutations, p.Phases.Steady))
	d.fact("Pairs", pairs(r.Propagation))
	d.fact("Correctness", correctness(r))
	d.fact("Noise", noise(r.Propagation))
	d.fact("Answers", answers(r.Acks))
	d.fact("Misbehaviour", misbehaviour(r.Proxies))
	for _, o := range r.Outages {
		d.fact("Outage", outage(o))
	}
	d.fact("Control plane", controlPlane(r.ControlPlane))
	d.fact("Harness", harness(r.Harness))
	d.table(propagation(r.Propagation))
	d.table(stages(r.ControlPlane))
	d.table(replicas(r.ControlPlane))
	d.table(volume(r.Volume))
	for _, t := range profileTables(r.ControlPlane) {
		d.table(t)
	}
	for _, s := range r.SLO {
		d.slo = append(d.slo, sloText(s))
	}
	for _, e := range r.Errors {
		d.notes = append(d.notes, fact{"Error", e})
	}
	if r.Harness != nil {
		for _, reason := range r.Harness.Reasons {
			d.notes = append(d.notes, fact{"Bottleneck", reason})
		}
	}
	d.notes = append(d.notes, reasons(r)...)
	for _, w := range r.Warnings {
		d.notes = append(d.notes, fact{"Warning", w})
	}
	return d, nil
}

func (d *document) fact(label, text string) {
	if text != "" {
		d.facts = append(d.facts, fact{label, text})
	}
}

func (d *document) table(t table) {
	if len(t.rows) > 0 {
		d.tables = append(d.tables, t)
	}
}

func target(r *result.Result) string {
	var name, version, machine string
	if c := r.ControlPlane; c != nil {
		name, version = c.Kind, c.Version
	}
	if e := r.Environment; e != nil {
		if e.Target != "" {
			name = e.Target
		}
		if e.CPUs > 0 {
			machine = fmt.Sprintf("%s, %s memory", plural(e.CPUs, "CPU", "CPUs"), size(float64(e.Memory)))
		}
	}
	if version != "" {
		name += ", version " + version
	}
	return strings.Trim(name+"; "+machine, "; ")
}

func meshText(p *profile) string {
	if p.Mesh.Services == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s in %s; seed %d",
		plural(p.Mesh.Services, "service", "services"), plural(p.Mesh.EndpointsPerService, "endpoint", "endpoints"),
		plural(p.Mesh.Namespaces, "namespace", "namespaces"), p.Seed)
}

func proxies(p *result.Proxies) string {
	if p == nil {
		return ""
	}
	var variants []string
	for _, v := range slices.Sorted(maps.Keys(p.ByVariant)) {
		variants = append(variants, count(p.ByVariant[v])+" "+v)
	}
	return fmt.Sprintf("%s of %s ready (%s); %s, %s refused",
		count(p.Ready), count(p.Requested), strings.Join(variants, ", "),
		plural(p.Disconnects, "disconnect", "disconnects"), count(p.Refused))
}

func syncText(s *result.Sync) string {
	if s == nil || s.TimeToReady == nil {
		return ""
	}
	text := fmt.Sprintf("ready after p50 %s, p99 %s, max %s", span(s.TimeToReady.P50), span(s.TimeToReady.P99), span(s.TimeToReady.Max))
	if c := s.ConfigBytesPerProxy; c != nil {
		text += fmt.Sprintf("; config per proxy %s (max %s)", size(c.Mean), size(c.Max))
	}
	return text
}

func mutations(m *result.Mutations, steady string) string {
	if m == nil {
		return ""
	}
	over := ""
	if steady != "" {
		over = " over " + steady
	}
	return fmt.Sprintf("%s of %s applied%s: %s complete, %s incomplete, %s silent; %s late, %s failed",
		count(m.Applied), count(m.Scheduled), over,
		count(m.Complete), count(m.Incomplete), count(m.Noop), count(m.Late), count(m.Failed))
}

func pairs(p *result.Propagation) string {
	if p == nil {
		return ""
	}
	how := "superseded " + count(p.Coalesced)
	if p.Unobserved > 0 {
		how += ", with nothing sent " + count(p.Unobserved)
	}
	return fmt.Sprintf("expected %s: delivered %s (%s), unreached %s, interrupted %s, retired %s",
		count(p.Expected), count(p.Deliveries), how, count(p.Undelivered), count(p.Interrupted), count(p.Retired))
}

func noise(p *result.Propagation) string {
	if p == nil || p.Noise == nil {
		return ""
	}
	n := p.Noise
	between := func(r result.Range) string { return span(r.Low) + " to " + span(r.High) }
	return fmt.Sprintf("95 %% intervals of every proxy's latency: p50 %s, p90 %s, p99 %s (%s of %s)",
		between(n.P50), between(n.P90), between(n.P99), plural(n.Blocks, "block", "blocks"), span(n.BlockSeconds))
}

func correctness(r *result.Result) string {
	var parts []string
	if p := r.Propagation; p != nil {
		parts = append(parts, "unexplained "+count(p.UnknownStates))
	}
	if c := r.Convergence; c != nil {
		parts = append(parts,
			"diverged "+count(c.Diverged),
			"ghost endpoints "+count(c.StaleEndpoints),
			"missing endpoints "+count(c.MissingEndpoints))
		if c.MissingClusters > 0 {
			parts = append(parts, "missing clusters "+count(c.MissingClusters))
		}
		if c.StuckWarming != nil && *c.StuckWarming > 0 {
			parts = append(parts, "stuck warming "+count(*c.StuckWarming))
		}
		if c.OrderingViolations > 0 {
			parts = append(parts, "ordering violations "+count(c.OrderingViolations))
		}
	}
	return strings.Join(parts, ", ")
}

func answers(a *result.Acks) string {
	if a == nil || a.NacksInjected+a.NacksInvalid == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, %s for a fault, %s injected",
		plural(a.Sent, "ACK", "ACKs"), plural(a.NacksInvalid, "NACK", "NACKs"), count(a.NacksInjected))
	if a.NackLoopRate > 0 {
		text += "; NACK loops at " + digits(a.NackLoopRate) + "/s"
	}
	return text
}

func controlPlane(c *observed.ControlPlane) string {
	if c == nil {
		return ""
	}
	var parts []string
	if c.CPUSeconds != nil {
		parts = append(parts, "CPU "+span(*c.CPUSeconds))
	}
	if c.PeakRSSBytes != nil {
		parts = append(parts, "peak RSS "+size(float64(*c.PeakRSSBytes)))
	}
	if s := c.Steady; s != nil {
		parts = append(parts, fmt.Sprintf("steady load %s cores (peak %s), peak RSS %s", digits(s.Cores), digits(s.PeakCores), size(float64(s.PeakRSSBytes))))
	}
	if c.Metrics != nil {
		if q := c.Metrics.Histograms["pilot_proxy_convergence_time"]; q != nil {
			parts = append(parts, "its own convergence time p99 "+metricText(q))
		}
		if c.Metrics.Restarted {
			parts = append(parts, "restarted during the run")
		}
	}
	return strings.Join(parts, ", ")
}

// metricText writes an estimate with its uncertainty.
func metricText(q *observed.Quantiles) string {
	if q.Beyond {
		return "over " + span(q.P99)
	}
	return fmt.Sprintf("%s (bucket of %s)", span(q.P99), span(q.Width))
}

func harness(h *result.Harness) string {
	if h == nil {
		return ""
	}
	var parts []string
	if h.CPUSeconds != nil && h.WallSeconds != nil && h.GOMAXPROCS > 0 {
		parts = append(parts, fmt.Sprintf("CPU %s (%.0f %% of %d CPUs)",
			span(*h.CPUSeconds), 100**h.CPUSeconds / *h.WallSeconds / float64(h.GOMAXPROCS), h.GOMAXPROCS))
	}
	if h.PeakRSSBytes != nil {
		parts = append(parts, "peak RSS "+size(float64(*h.PeakRSSBytes)))
	}
	if h.ScheduleLag != nil {
		parts = append(parts, "schedule lag p99 "+span(h.ScheduleLag.P99))
	}
	if h.StampLag != nil {
		parts = append(parts, "stamp lag p99 "+span(h.StampLag.P99))
	}
	if h.Saturated {
		return strings.Join(append(parts, "SATURATED"), ", ")
	}
	return strings.Join(append(parts, "not the bottleneck"), ", ")
}

func sloText(s result.SLO) sloLine {
	line := sloLine{pass: s.Pass, metric: s.Metric, value: "not measured", limit: s.Limit}
	if s.Value != nil {
		line.value = Amount(*s.Value, s.Unit)
	}
	return line
}
