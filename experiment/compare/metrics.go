package compare

import "github.com/xdsbench/xdsbench/result/metric"

// The numbers that no result names, worked out from it.
const (
	// contradictions is how many contradictions the result found in itself.
	contradictions = "errors"
	// neverReady is proxies.requested less proxies.ready.
	neverReady = "proxies.neverReady"
)

// Which way of a metric is better.
const (
	lower   = "lower"
	higher  = "higher"
	neither = ""
)

// role is what a metric is for.
type role int

const (
	flag   role = iota // informational, unless it is asked for
	gate               // decides
	zero               // a count of defects: decides
	inform             // never decides: it describes the harness, or the load
)

// groups are in the order of the table.
func groups() []string {
	return []string{"Latency", "Correctness", "Volume", "Control plane", "Harness", "Other"}
}

const (
	latency = iota
	correctness
	volume
	plane
	harness
	other
)

// rule says what the metrics of a pattern are.
type rule struct {
	pattern string
	group   int
	better  string
	role    role
	// usual metrics are shown without --all.
	usual bool
}

// rules are in the order of the table; the first whose pattern matches holds.
func rules() []rule {
	var all []rule
	for _, part := range [][]rule{latencyRules(), correctnessRules(), volumeRules(), planeRules(), harnessRules()} {
		all = append(all, part...)
	}
	return append(all, rule{"*", other, neither, inform, false})
}

func latencyRules() []rule {
	return []rule{
		{"propagation.all.p50", latency, lower, gate, true},
		{"propagation.all.p99", latency, lower, gate, true},
		{"propagation.all.max", latency, lower, flag, true},
		{"propagation.firstProxy.p50", latency, lower, flag, true},
		{"propagation.lastProxy.p99", latency, lower, flag, true},
		{"sync.timeToReady.p99", latency, lower, flag, true},
		{"propagation.noise.*", latency, neither, inform, false},
		{"propagation.*.count", latency, neither, inform, false},
		{"propagation.*.*", latency, lower, flag, false},
		{"sync.timeToReady.count", latency, neither, inform, false},
		{"sync.timeToReady.*", latency, lower, flag, false},
		{"sync.readyAgain.count", latency, neither, inform, false},
		{"sync.readyAgain.*", latency, lower, flag, false},
		{"mutations.writeTime.count", latency, neither, inform, false},
		{"mutations.writeTime.*", latency, lower, flag, false},
	}
}

func correctnessRules() []rule {
	return []rule{
		{"propagation.deliveries", correctness, neither, inform, true},
		{"propagation.undelivered", correctness, lower, zero, true},
		{"propagation.unknownStates", correctness, lower, zero, true},
		{"convergence.diverged", correctness, lower, zero, true},
		{"convergence.staleEndpoints", correctness, lower, zero, true},
		{"convergence.missingEndpoints", correctness, lower, zero, true},
		{"convergence.missingClusters", correctness, lower, zero, true},
		{"convergence.stuckWarming", correctness, lower, zero, true},
		{"acks.nacksInvalid", correctness, lower, zero, true},
		{neverReady, correctness, lower, zero, true},
		{contradictions, correctness, lower, zero, true},
		{"proxies.ready", correctness, higher, flag, true},
		{"mutations.complete", correctness, higher, flag, true},
		{"proxies.disconnects", correctness, lower, flag, true},
		{"convergence.orderingViolations", correctness, lower, flag, true},
		{"propagation.regressed", correctness, lower, flag, false},
		{"propagation.recurred", correctness, lower, flag, false},
		{"propagation.interrupted", correctness, lower, flag, false},
		{"proxies.connected", correctness, higher, flag, false},
		{"proxies.refused", correctness, lower, flag, false},
		{"proxies.failures.*", correctness, lower, flag, false},
		{"mutations.incomplete", correctness, lower, flag, false},
		{"mutations.failed", correctness, lower, flag, false},
		{"convergence.staleEndpointsInOutage", correctness, lower, flag, false},
		{"sync.unknownStates", correctness, lower, flag, false},
		{"acks.nackLoopRate", correctness, lower, flag, false},
	}
}

func volumeRules() []rule {
	return []rule{
		{"volume.wireBytes.in", volume, lower, gate, true},
		{"volume.byType.*.bytes", volume, lower, flag, true},
		{"volume.byType.*.responses", volume, lower, flag, true},
		{"volume.duplicateResources", volume, lower, flag, true},
		{"acks.sent", volume, neither, inform, true},
		{"acks.nacksInjected", volume, neither, inform, true},
		{"sync.configBytesPerProxy.p50", volume, lower, flag, true},
		{"sync.configBytesPerProxy.count", volume, neither, inform, false},
		{"sync.configBytesPerProxy.*", volume, lower, flag, false},
		{"sync.configBytesByType.*", volume, lower, flag, false},
		{"sync.volume.*", volume, lower, flag, false},
		{"volume.*", volume, lower, flag, false},
	}
}

// stages are in the order in which a change passes them.
func stages() []string {
	return []string{
		"schedule", "write", "watch", "debounce", "pushContext", "queue", "push", "send", "wire", "receive", "total", "ack",
	}
}

func planeRules() []rule {
	all := []rule{
		{"controlPlane.steady.cpuSeconds", plane, lower, gate, true},
		{"controlPlane.steady.peakRSSBytes", plane, lower, gate, true},
		{"controlPlane.work.pushes", plane, lower, flag, true},
		{"controlPlane.stages.mutationsPerPush", plane, neither, inform, true},
	}
	for _, stage := range stages() {
		r := rule{"controlPlane.stages." + stage + ".mean", plane, lower, flag, true}
		if stage == "watch" || stage == "wire" { // what is left: negative at times
			r.better, r.role = neither, inform
		}
		all = append(all, r)
	}
	return append(all, []rule{
		{"controlPlane.steady.wallSeconds", plane, neither, inform, false},
		{"controlPlane.steady.*", plane, lower, flag, false},
		{"controlPlane.cpuSeconds", plane, lower, flag, false},
		{"controlPlane.peakRSSBytes", plane, lower, flag, false},
		{"controlPlane.stages.watch.*", plane, neither, inform, false},
		{"controlPlane.stages.wire.*", plane, neither, inform, false},
		{"controlPlane.stages.*.p50", plane, lower, flag, false},
		{"controlPlane.stages.*.p99", plane, lower, flag, false},
		{"controlPlane.signals.latency.*", plane, lower, flag, false},
		{"controlPlane.signals.errors.*", plane, lower, flag, false},
		{"controlPlane.signals.saturation.*", plane, lower, flag, false},
		{"controlPlane.proxyStatus.stale", plane, lower, flag, false},
		{"controlPlane.proxyStatus.notSent", plane, lower, flag, false},
		{"controlPlane.*", plane, neither, inform, false},
	}...)
}

func harnessRules() []rule {
	return []rule{
		{"harness.cpuSeconds", harness, lower, inform, true},
		{"mutations.late", harness, lower, inform, true},
		{"harness.gomaxprocs", harness, neither, inform, false},
		{"harness.wallSeconds", harness, neither, inform, false},
		{"harness.scheduleLag.count", harness, neither, inform, false},
		{"harness.stampLag.count", harness, neither, inform, false},
		{"harness.*", harness, lower, inform, false},
	}
}

// ruleOf returns what a metric is, and where it stands in the table.
func ruleOf(name string, all []rule) (r rule, place int) {
	for i, r := range all {
		if metric.Match(r.pattern, name) {
			return r, i
		}
	}
	return all[len(all)-1], len(all) - 1
}
