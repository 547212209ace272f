package compare

import (
	"slices"

	"github.com/xdsbench/xdsbench/result/metric"
)

// The numbers that no result names, worked out from it.
const (
	// contradictions is how many contradictions the result found in itself.
	contradictions = "errors"
	// neverReady is proxies.requested less proxies.ready.
	neverReady = "proxies.neverReady"
)

// The directions in which a metric gets better.
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

// Whether a metric is shown without --all.
const (
	shown  = true
	hidden = false
)

// rule says what the metrics of a pattern are.
type rule struct {
	pattern string
	group   int
	better  string
	role    role
	shown   bool
}

// alike returns rules that differ in their patterns only.
func alike(group int, better string, role role, shown bool, patterns ...string) []rule {
	var all []rule
	for _, pattern := range patterns {
		all = append(all, rule{pattern, group, better, role, shown})
	}
	return all
}

// rules are in the order of the table; the first whose pattern matches holds.
func rules() []rule {
	return slices.Concat(
		alike(latency, lower, gate, shown, "propagation.all.p50", "propagation.all.p99"),
		alike(latency, lower, flag, shown, "propagation.all.max", "propagation.firstProxy.p50", "propagation.lastProxy.p99", "sync.timeToReady.p99"),
		alike(latency, neither, inform, hidden, "propagation.noise.*", "propagation.*.count", "sync.timeToReady.count", "sync.readyAgain.count", "mutations.writeTime.count"),
		alike(latency, lower, flag, hidden, "propagation.*.*", "sync.timeToReady.*", "sync.readyAgain.*", "mutations.writeTime.*"),

		alike(correctness, neither, inform, shown, "propagation.deliveries"),
		alike(correctness, lower, zero, shown, "propagation.undelivered", "propagation.unknownStates", "convergence.diverged",
			"convergence.staleEndpoints", "convergence.missingEndpoints", "convergence.missingClusters", "convergence.stuckWarming",
			"acks.nacksInvalid", neverReady, contradictions),
		alike(correctness, higher, flag, shown, "proxies.ready", "mutations.complete"),
		alike(correctness, lower, flag, shown, "proxies.disconnects", "convergence.orderingViolations"),
		alike(correctness, higher, flag, hidden, "proxies.connected"),
		alike(correctness, lower, flag, hidden, "propagation.regressed", "propagation.recurred", "propagation.interrupted", "proxies.refused",
			"proxies.failures.*", "mutations.incomplete", "mutations.failed", "convergence.staleEndpointsInOutage", "sync.unknownStates", "acks.nackLoopRate"),

		alike(volume, lower, gate, shown, "volume.wireBytes.in"),
		alike(volume, lower, flag, shown, "volume.byType.*.bytes", "volume.byType.*.responses", "volume.duplicateResources"),
		alike(volume, neither, inform, shown, "acks.sent", "acks.nacksInjected"),
		alike(volume, lower, flag, shown, "sync.configBytesPerProxy.p50"),
		alike(volume, neither, inform, hidden, "sync.configBytesPerProxy.count"),
		alike(volume, lower, flag, hidden, "sync.configBytesPerProxy.*", "sync.configBytesByType.*", "sync.volume.*", "volume.*"),

		alike(plane, lower, gate, shown, "controlPlane.steady.cpuSeconds", "controlPlane.steady.peakRSSBytes"),
		alike(plane, lower, flag, shown, "controlPlane.work.pushes"),
		alike(plane, neither, inform, shown, "controlPlane.stages.mutationsPerPush"),
		// The stages are in the order in which a change passes them. Watch, wire and
		// unattributed are what the others leave.
		alike(plane, lower, flag, shown, "controlPlane.stages.schedule.mean", "controlPlane.stages.write.mean"),
		alike(plane, neither, inform, shown, "controlPlane.stages.watch.mean"),
		alike(plane, lower, flag, shown, "controlPlane.stages.debounce.mean", "controlPlane.stages.pushContext.mean", "controlPlane.stages.queue.mean",
			"controlPlane.stages.push.mean", "controlPlane.stages.send.mean"),
		alike(plane, neither, inform, shown, "controlPlane.stages.wire.mean"),
		alike(plane, lower, flag, shown, "controlPlane.stages.receive.mean"),
		alike(plane, neither, inform, shown, "controlPlane.stages.unattributed.mean", "controlPlane.stages.overlap"),
		alike(plane, lower, flag, shown, "controlPlane.stages.total.mean", "controlPlane.stages.ack.mean"),
		alike(plane, neither, inform, hidden, "controlPlane.steady.wallSeconds", "controlPlane.stages.watch.*", "controlPlane.stages.wire.*",
			"controlPlane.stages.unattributed.*", "controlPlane.stages.*.p50Bucket.*", "controlPlane.stages.*.p99Bucket.*"),
		alike(plane, lower, flag, hidden, "controlPlane.steady.*", "controlPlane.cpuSeconds", "controlPlane.peakRSSBytes",
			"controlPlane.stages.*.p50", "controlPlane.stages.*.p99", "controlPlane.signals.latency.*", "controlPlane.signals.errors.*",
			"controlPlane.signals.saturation.*", "controlPlane.proxyStatus.stale", "controlPlane.proxyStatus.notSent"),
		alike(plane, neither, inform, hidden, "controlPlane.*"),

		alike(harness, lower, inform, shown, "harness.cpuSeconds", "mutations.late"),
		alike(harness, neither, inform, hidden, "harness.gomaxprocs", "harness.wallSeconds", "harness.scheduleLag.count", "harness.stampLag.count"),
		alike(harness, lower, inform, hidden, "harness.*"),
		alike(other, neither, inform, hidden, "*"),
	)
}

// ruleOf returns what a metric is, and where it stands in the table.
func ruleOf(name string, all []rule) (r rule, place int) {
	place = slices.IndexFunc(all, func(r rule) bool { return metric.Match(r.pattern, name) })
	return all[place], place // the last rule matches every name
}
