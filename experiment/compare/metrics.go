package compare

import (
	"github.com/xdsbench/xdsbench/result/metric"
)

// The numbers that no result names, worked out from it.
const (
	// contradictions is how many contradictions the result found in itself.
	contradictions = "errors"
	// neverReady is proxies.requested less proxies.ready.
	neverReady = "proxies.neverReady"
)

// Which way of a metric is better.
const (
	Lower   = "lower"
	Higher  = "higher"
	Neither = ""
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
	return append(all, rule{"*", other, Neither, inform, false})
}

func latencyRules() []rule {
	return []rule{
		{"propagation.all.p50", latency, Lower, gate, true},
		{"propagation.all.p99", latency, Lower, gate, true},
		{"propagation.all.max", latency, Lower, flag, true},
		{"propagation.firstProxy.p50", latency, Lower, flag, true},
		{"propagation.lastProxy.p99", latency, Lower, flag, true},
		{"sync.timeToReady.p99", latency, Lower, flag, true},
		{"propagation.noise.*", latency, Neither, inform, false},
		{"propagation.*.count", latency, Neither, inform, false},
		{"propagation.*.*", latency, Lower, flag, false},
		{"sync.timeToReady.count", latency, Neither, inform, false},
		{"sync.timeToReady.*", latency, Lower, flag, false},
		{"sync.readyAgain.count", latency, Neither, inform, false},
		{"sync.readyAgain.*", latency, Lower, flag, false},
		{"mutations.writeTime.count", latency, Neither, inform, false},
		{"mutations.writeTime.*", latency, Lower, flag, false},
	}
}

func correctnessRules() []rule {
	return []rule{
		{"propagation.deliveries", correctness, Neither, inform, true},
		{"propagation.undelivered", correctness, Lower, zero, true},
		{"propagation.unknownStates", correctness, Lower, zero, true},
		{"convergence.diverged", correctness, Lower, zero, true},
		{"convergence.staleEndpoints", correctness, Lower, zero, true},
		{"convergence.missingEndpoints", correctness, Lower, zero, true},
		{"convergence.missingClusters", correctness, Lower, zero, true},
		{"convergence.stuckWarming", correctness, Lower, zero, true},
		{"acks.nacksInvalid", correctness, Lower, zero, true},
		{neverReady, correctness, Lower, zero, true},
		{contradictions, correctness, Lower, zero, true},
		{"proxies.ready", correctness, Higher, flag, true},
		{"mutations.complete", correctness, Higher, flag, true},
		{"proxies.disconnects", correctness, Lower, flag, true},
		{"convergence.orderingViolations", correctness, Lower, flag, true},
		{"propagation.regressed", correctness, Lower, flag, false},
		{"propagation.recurred", correctness, Lower, flag, false},
		{"propagation.interrupted", correctness, Lower, flag, false},
		{"proxies.connected", correctness, Higher, flag, false},
		{"proxies.refused", correctness, Lower, flag, false},
		{"proxies.failures.*", correctness, Lower, flag, false},
		{"mutations.incomplete", correctness, Lower, flag, false},
		{"mutations.failed", correctness, Lower, flag, false},
		{"convergence.staleEndpointsInOutage", correctness, Lower, flag, false},
		{"sync.unknownStates", correctness, Lower, flag, false},
		{"acks.nackLoopRate", correctness, Lower, flag, false},
	}
}

func volumeRules() []rule {
	return []rule{
		{"volume.wireBytes.in", volume, Lower, gate, true},
		{"volume.byType.*.bytes", volume, Lower, flag, true},
		{"volume.byType.*.responses", volume, Lower, flag, true},
		{"volume.duplicateResources", volume, Lower, flag, true},
		{"acks.sent", volume, Neither, inform, true},
		{"acks.nacksInjected", volume, Neither, inform, true},
		{"sync.configBytesPerProxy.p50", volume, Lower, flag, true},
		{"sync.configBytesPerProxy.count", volume, Neither, inform, false},
		{"sync.configBytesPerProxy.*", volume, Lower, flag, false},
		{"sync.configBytesByType.*", volume, Lower, flag, false},
		{"sync.volume.*", volume, Lower, flag, false},
		{"volume.*", volume, Lower, flag, false},
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
		{"controlPlane.steady.cpuSeconds", plane, Lower, gate, true},
		{"controlPlane.steady.peakRSSBytes", plane, Lower, gate, true},
		{"controlPlane.signals.traffic.pilot_xds_pushes", plane, Lower, flag, true},
		{"controlPlane.stages.mutationsPerPush", plane, Neither, inform, true},
	}
	for _, stage := range stages() {
		r := rule{"controlPlane.stages." + stage + ".mean", plane, Lower, flag, true}
		if stage == "watch" || stage == "wire" { // what is left: negative at times
			r.better, r.role = Neither, inform
		}
		all = append(all, r)
	}
	return append(all, []rule{
		{"controlPlane.steady.wallSeconds", plane, Neither, inform, false},
		{"controlPlane.steady.*", plane, Lower, flag, false},
		{"controlPlane.cpuSeconds", plane, Lower, flag, false},
		{"controlPlane.peakRSSBytes", plane, Lower, flag, false},
		{"controlPlane.stages.watch.*", plane, Neither, inform, false},
		{"controlPlane.stages.wire.*", plane, Neither, inform, false},
		{"controlPlane.stages.*.p50", plane, Lower, flag, false},
		{"controlPlane.stages.*.p99", plane, Lower, flag, false},
		{"controlPlane.signals.latency.*", plane, Lower, flag, false},
		{"controlPlane.signals.errors.*", plane, Lower, flag, false},
		{"controlPlane.signals.saturation.*", plane, Lower, flag, false},
		{"controlPlane.proxyStatus.stale", plane, Lower, flag, false},
		{"controlPlane.proxyStatus.notSent", plane, Lower, flag, false},
		{"controlPlane.*", plane, Neither, inform, false},
	}...)
}

func harnessRules() []rule {
	return []rule{
		{"harness.cpuSeconds", harness, Lower, inform, true},
		{"mutations.late", harness, Lower, inform, true},
		{"harness.gomaxprocs", harness, Neither, inform, false},
		{"harness.wallSeconds", harness, Neither, inform, false},
		{"harness.scheduleLag.count", harness, Neither, inform, false},
		{"harness.stampLag.count", harness, Neither, inform, false},
		{"harness.*", harness, Lower, inform, false},
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
