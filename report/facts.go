package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// facts are one statement on each part of a run.
func facts(s *doc.Section, r *result.Result, p *profile) {
	s.Pair("Target", target(r))
	s.Pair("Mesh", meshText(p))
	s.Pair("Proxies", proxies(r.Proxies))
	s.Pair("Sync", syncText(r.Sync))
	s.Pair("Mutations", mutations(r.Mutations, p.Phases.Steady))
	s.Pair("Pairs", pairs(r.Propagation))
	s.Pair("Correctness", correctness(r))
	s.Pair("Within-run scatter", scatter(r.Propagation))
	s.Pair("Answers", answers(r.Acks))
	s.Pair("Misbehaviour", misbehaviour(r.Proxies))
	for _, o := range r.Outages {
		s.Pair("Outage", outage(o))
	}
	s.Pair("Control plane", controlPlane(r))
	s.Pair("Idle", idle(r.ControlPlane))
	s.Pair("Its cache", cache(r.ControlPlane))
	s.Pair("Harness", harness(r.Harness))
}

// fleetFacts are those of a fleet without churn.
func fleetFacts(s *doc.Section, r *result.Result) {
	s.Pair("Proxies", proxies(r.Proxies))
	s.Pair("Sync", syncText(r.Sync))
	s.Pair("Received", received(r.Sync))
	s.Pair("Answers", answers(r.Acks))
	s.Pair("Misbehaviour", misbehaviour(r.Proxies))
	if c := r.Convergence; c != nil && c.StuckWarming != nil && *c.StuckWarming > 0 {
		s.Pair("Stuck", units.Count(*c.StuckWarming)+" endpoints or routes did not arrive in time")
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
			machine = fmt.Sprintf("%s, %s memory", units.Plural(e.CPUs, "CPU", "CPUs"), units.Bytes(e.Memory))
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
	of := func(services, endpoints int) string {
		return units.Plural(services, "service", "services") + " of " + units.Plural(endpoints, "endpoint", "endpoints")
	}
	sizes := []string{of(p.Mesh.Services, p.Mesh.EndpointsPerService)}
	if len(p.Mesh.Classes) > 0 {
		sizes = nil
	}
	for _, c := range p.Mesh.Classes {
		sizes = append(sizes, of(c.Services, c.Endpoints))
	}
	return fmt.Sprintf("%s in %s; seed %d", strings.Join(sizes, ", "), units.Plural(p.Mesh.Namespaces, "namespace", "namespaces"), p.Seed)
}

func proxies(p *result.Proxies) string {
	if p == nil {
		return ""
	}
	var variants []string
	for _, v := range slices.Sorted(maps.Keys(p.ByVariant)) {
		variants = append(variants, units.Count(p.ByVariant[v])+" "+v)
	}
	return fmt.Sprintf("%s of %s ready (%s); %s, %s refused",
		units.Count(p.Ready), units.Count(p.Requested), strings.Join(variants, ", "),
		units.Plural(p.Disconnects, "disconnect", "disconnects"), units.Count(p.Refused))
}

func syncText(s *result.Sync) string {
	if s == nil || s.TimeToReady == nil {
		return ""
	}
	t := s.TimeToReady
	text := fmt.Sprintf("ready after %s, %s, max %s", quantileText(t, "p50", t.P50), quantileText(t, "p99", t.P99), units.Duration(t.Max))
	if c := s.ConfigBytesPerProxy; c != nil {
		text += fmt.Sprintf("; config per proxy %s (max %s)", units.Bytes(c.Mean), units.Bytes(c.Max))
	}
	return text
}

// received sums up all that was sent to a fleet without churn.
func received(s *result.Sync) string {
	if s == nil || s.Volume == nil {
		return ""
	}
	var sum result.Traffic
	for _, t := range s.Volume.ByType {
		sum.Responses += t.Responses
		sum.Bytes += t.Bytes
	}
	text := fmt.Sprintf("%s, %s", units.Plural(sum.Responses, "response", "responses"), units.Bytes(sum.Bytes))
	if w := s.Volume.WireBytes; w != nil {
		text += fmt.Sprintf("; %s in and %s out on the wire", units.Bytes(w.In), units.Bytes(w.Out))
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
	return fmt.Sprintf("%s of %s applied%s: %s complete, %s incomplete, %s no-op; %s late, %s failed",
		units.Count(m.Applied), units.Count(m.Scheduled), over,
		units.Count(m.Complete), units.Count(m.Incomplete), units.Count(m.Noop), units.Count(m.Late), units.Count(m.Failed))
}

func pairs(p *result.Propagation) string {
	if p == nil {
		return ""
	}
	how := "coalesced " + units.Count(p.Coalesced)
	if p.Unobserved > 0 {
		how += ", with nothing sent " + units.Count(p.Unobserved)
	}
	text := fmt.Sprintf("expected %s: delivered %s (%s), undelivered %s, ",
		units.Count(p.Expected), units.Count(p.Deliveries), how, units.Count(p.Undelivered))
	return text + explained("interrupted", p.Interrupted, "the stream broke first") + ", " +
		explained("retired", p.Retired, "the proxy's pod was deleted first")
}

// explained writes a count, and what it means unless it is zero.
func explained[N int | int64](label string, n N, meaning string) string {
	if n == 0 {
		return label + " 0"
	}
	return label + " " + units.Count(n) + " (" + meaning + ")"
}

func scatter(p *result.Propagation) string {
	if p == nil || p.Noise == nil || p.All == nil {
		return ""
	}
	n := p.Noise
	between := func(name string, r result.Range) string {
		return name + " " + marked(units.Range(r.Low, r.High, "s"), p.All.Mark(name))
	}
	return fmt.Sprintf("every proxy's latency, 95 %% intervals: %s, %s, %s (%s of %s); another run may differ by more",
		between("p50", n.P50), between("p90", n.P90), between("p99", n.P99), units.Plural(n.Blocks, "block", "blocks"), units.Duration(n.BlockSeconds))
}

func correctness(r *result.Result) string {
	var parts []string
	if p := r.Propagation; p != nil {
		parts = append(parts, "unknown states "+units.Count(p.UnknownStates))
	}
	if c := r.Convergence; c != nil {
		parts = append(parts, explained("diverged", c.Diverged, "proxies that end in a wrong state"),
			"stale endpoints "+units.Count(c.StaleEndpoints), "missing endpoints "+units.Count(c.MissingEndpoints))
		if c.MissingClusters > 0 {
			parts = append(parts, "missing clusters "+units.Count(c.MissingClusters))
		}
		if c.StuckWarming != nil && *c.StuckWarming > 0 {
			parts = append(parts, "stuck warming "+units.Count(*c.StuckWarming))
		}
		if c.OrderingViolations > 0 {
			parts = append(parts, "ordering violations "+units.Count(c.OrderingViolations))
		}
	}
	return strings.Join(parts, ", ")
}

func answers(a *result.Acks) string {
	if a == nil || a.NacksInjected+a.NacksInvalid == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, %s for a fault, %s injected",
		units.Plural(a.Sent, "ACK", "ACKs"), units.Plural(a.NacksInvalid, "NACK", "NACKs"), units.Count(a.NacksInjected))
	if a.NackLoopRate > 0 {
		text += "; NACK loops at " + units.Number(a.NackLoopRate) + "/s"
	}
	return text
}

// misbehaviour writes what proxies did on purpose.
func misbehaviour(p *result.Proxies) string {
	if p == nil {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.Misbehaviour)) {
		parts = append(parts, name+" "+units.Count(p.Misbehaviour[name]))
	}
	return strings.Join(parts, ", ")
}

func controlPlane(r *result.Result) string {
	c := r.ControlPlane
	if c == nil {
		return ""
	}
	var parts []string
	if c.CPUSeconds != nil {
		parts = append(parts, "CPU "+units.Duration(*c.CPUSeconds))
	}
	if c.PeakRSSBytes != nil {
		parts = append(parts, "peak RSS "+units.Bytes(*c.PeakRSSBytes))
	}
	if s := c.Steady; s != nil {
		parts = append(parts, fmt.Sprintf("steady load %s cores (peak %s), peak RSS %s", units.Number(s.Cores), units.Number(s.PeakCores), units.Bytes(s.PeakRSSBytes)))
	}
	if w := c.Work; w != nil && w.ConvergenceTime != nil {
		parts = append(parts, "its own convergence time p99 "+ownConvergence(w.ConvergenceTime, r.Propagation))
	}
	if c.Metrics != nil && c.Metrics.Restarted {
		parts = append(parts, "restarted during the run")
	}
	return strings.Join(parts, ", ")
}

// ownConvergence writes the p99 of the control plane's pushes, which are parts of
// deliveries and no longer than the slowest.
func ownConvergence(q *observed.Quantiles, p *result.Propagation) string {
	in := q.P99Bucket
	if in != nil && p != nil && p.All != nil {
		in = new(in.Below(p.All.Max))
	}
	return stageQuantile(&q.P99, in, q.Mark("p99"))
}

func harness(h *result.Harness) string {
	if h == nil {
		return ""
	}
	var parts []string
	if h.CPUSeconds != nil && h.WallSeconds != nil && h.GOMAXPROCS > 0 {
		parts = append(parts, fmt.Sprintf("CPU %s (%.0f %% of %s)",
			units.Duration(*h.CPUSeconds), 100**h.CPUSeconds / *h.WallSeconds / float64(h.GOMAXPROCS), units.Plural(h.GOMAXPROCS, "CPU", "CPUs")))
	}
	if h.PeakRSSBytes != nil {
		parts = append(parts, "peak RSS "+units.Bytes(*h.PeakRSSBytes))
	}
	if h.ScheduleLag != nil {
		parts = append(parts, "schedule lag "+quantileText(h.ScheduleLag, "p99", h.ScheduleLag.P99))
	}
	if h.StampLag != nil {
		parts = append(parts, "stamp lag "+quantileText(h.StampLag, "p99", h.StampLag.P99))
	}
	state := "load generator OK"
	switch {
	case h.Saturated:
		state = "the bottleneck"
	case h.Unknown != "":
		state = "load generator unknown: " + h.Unknown
	}
	return strings.Join(append(parts, state), ", ")
}
