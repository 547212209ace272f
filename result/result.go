package result

import (
	"encoding/json"

	"github.com/xdsbench/xdsbench/result/effect"
	"github.com/xdsbench/xdsbench/result/observed"
	"github.com/xdsbench/xdsbench/result/rows"
)

// Schema names the layout of a result file.
const Schema = "xdsbench/result/v2"

// Result is what one run found. Sections and distributions that a run did not
// measure are absent, never zero. Times are seconds, sizes are bytes.
type Result struct {
	Schema string `json:"schema"`
	// Verdict is what the run comes down to, the worst of all that apply, and Reasons
	// say why, the worst first: see the package verdict.
	Verdict string   `json:"verdict,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	// Failure says why the run could not go on to its end; empty if it did.
	Failure string `json:"failure,omitempty"`
	Partial bool   `json:"partial"`
	// Profile is the resolved profile.
	Profile     json.RawMessage `json:"profile,omitempty"`
	Environment *Environment    `json:"environment,omitempty"`
	Proxies     *Proxies        `json:"proxies,omitempty"`
	Sync        *Sync           `json:"sync,omitempty"`
	Mutations   *Mutations      `json:"mutations,omitempty"`
	Propagation *Propagation    `json:"propagation,omitempty"`
	Volume      *Volume         `json:"volume,omitempty"`
	Acks        *Acks           `json:"acks,omitempty"`
	Convergence *Convergence    `json:"convergence,omitempty"`
	Outages     []Outage        `json:"outages,omitempty"`
	// Silences are the peers that fell silent, as far as that was noticed.
	Silences     []Silence              `json:"silences,omitempty"`
	ControlPlane *observed.ControlPlane `json:"controlPlane,omitempty"`
	Harness      *Harness               `json:"harness,omitempty"`
	SLO          []SLO                  `json:"slo,omitempty"`
	// Warnings are caveats to the numbers.
	Warnings []string `json:"warnings,omitempty"`
	// Errors are contradictions inside the numbers: a result with errors is not
	// to be trusted.
	Errors []string `json:"errors,omitempty"`

	// MutationRows and ProxyRows become mutations.csv and proxies.csv when the
	// result is saved. Load does not read them back.
	MutationRows []rows.Mutation `json:"-"`
	ProxyRows    []rows.Proxy    `json:"-"`
	// TimelineRows become timeline.csv.
	TimelineRows []rows.Timeline `json:"-"`
}

// Environment says where and with what a run was made.
type Environment struct {
	// StartedAt is the wall-clock start of the run, RFC 3339.
	StartedAt string `json:"startedAt,omitempty"`
	// RunID is in the labels of every object that the run created.
	RunID     string            `json:"runID,omitempty"`
	Versions  map[string]string `json:"versions,omitempty"`
	Target    string            `json:"target,omitempty"`
	TargetEnv map[string]string `json:"targetEnv,omitempty"`
	// Transport is what carried the fleet's streams: grpc (grpc-go) or lean (our own).
	Transport  string `json:"transport,omitempty"`
	CPUModel   string `json:"cpuModel,omitempty"`
	CPUs       int    `json:"cpus,omitempty"`
	Memory     int64  `json:"memoryBytes,omitempty" unit:"bytes"`
	GOMAXPROCS int    `json:"gomaxprocs,omitempty"`
	OS         string `json:"os,omitempty"`
	Kernel     string `json:"kernel,omitempty"`
}

// Proxies counts proxies. Connected and Ready count those that ever were.
type Proxies struct {
	Requested int `json:"requested"`
	Connected int `json:"connected"`
	Ready     int `json:"ready"`
	// Joined and Left count the proxies that came and went with the pods of turnover.
	// Those that joined are among Requested.
	Joined      int            `json:"joined,omitempty"`
	Left        int            `json:"left,omitempty"`
	Disconnects int64          `json:"disconnects"`
	Refused     int64          `json:"refused"`
	ByVariant   map[string]int `json:"byVariant"`
	// ByKind tells sidecars, routers, waypoints and ztunnels apart.
	ByKind map[string]*effect.Proxies `json:"byKind,omitempty"`
	// Failures count disconnects and refusals by what gRPC or the dialler said.
	Failures map[string]int64 `json:"failures,omitempty"`
	// Misbehaviour counts what proxies did on purpose that an Envoy in order does
	// not, by the names of the fleet's counts.
	Misbehaviour map[string]int64 `json:"misbehaviour,omitempty"`
}

// Sync describes the time before the steady phase.
type Sync struct {
	// TimeToReady is, per proxy, from when its first connection attempt was due to
	// its first ready: refused attempts are in it.
	TimeToReady *Distribution `json:"timeToReady,omitempty" unit:"s"`
	// TimeToComplete is, per proxy, from when its first attempt was due until it held
	// every cluster of the mesh that it has to know, each in a state of the mesh: a
	// control plane may call half of it all. Absent where that is not known.
	TimeToComplete *Distribution `json:"timeToComplete,omitempty" unit:"s"`
	// IncompleteAtSteady counts proxies that were ready when steady load began, but
	// lacked clusters of the mesh, or held another state of them; ClustersLacking sums
	// these clusters over the proxies.
	IncompleteAtSteady int   `json:"incompleteAtSteady,omitempty"`
	ClustersLacking    int64 `json:"clustersLacking,omitempty"`
	// Joined is TimeToReady of the proxies that joined later.
	Joined *Distribution `json:"joined,omitempty" unit:"s"`
	// ReadyAgain is of every later ready, after a reconnect in any phase: from the attempt
	// that succeeded.
	ReadyAgain *Distribution `json:"readyAgain,omitempty" unit:"s"`
	// ConfigBytesPerProxy is the size of what each proxy held when first ready.
	ConfigBytesPerProxy *Distribution    `json:"configBytesPerProxy,omitempty" unit:"bytes"`
	ConfigBytesByType   map[string]int64 `json:"configBytesByType,omitempty" unit:"bytes"`
	// Volume is what was sent before the steady phase.
	Volume *Volume `json:"volume,omitempty"`
	// UnknownStates counts states seen before the steady phase that are not the
	// mesh's: a control plane that still read its objects sends such states.
	UnknownStates int64 `json:"unknownStates"`
}

// Mutations counts mutations of the steady phase. Applied is Complete plus
// Incomplete plus Pending plus Noop.
type Mutations struct {
	Scheduled int `json:"scheduled"`
	Applied   int `json:"applied"`
	// Failed writes were withdrawn; FailedButSeen failed at the client, but a
	// proxy received their state: they are part of Applied.
	Failed        int `json:"failed"`
	FailedButSeen int `json:"failedButSeen,omitempty"`
	// Unanswered writes were issued but had no answer when the run ended; they
	// are part of Applied.
	Unanswered int `json:"unanswered,omitempty"`
	Late       int `json:"late"`
	Noop       int `json:"noop"`
	// Complete mutations have no undelivered pair.
	Complete   int `json:"complete"`
	Incomplete int `json:"incomplete"`
	// Pending mutations had pairs pending when the run was interrupted.
	Pending int            `json:"pending,omitempty"`
	WarmUp  int            `json:"warmUp,omitempty"`
	ByKind  map[string]int `json:"byKind,omitempty"`
	// Effects are what the mutations of each kind caused.
	Effects map[string]*effect.Kind `json:"effects,omitempty"`
	// WriteTime is from issued to the API server's answer, of writes that succeeded.
	WriteTime *Distribution `json:"writeTime,omitempty" unit:"s"`
}

// Propagation says how long mutations took to reach the proxies.
type Propagation struct {
	// All has a sample per delivered pair, from scheduled to received; FromAck
	// the same from the API server's answer.
	All     *Distribution `json:"all,omitempty" unit:"s"`
	FromAck *Distribution `json:"fromAck,omitempty" unit:"s"`
	// Arrived is All without the harness's own part: from scheduled to when the
	// message's last bytes reached this machine, as the kernel saw them. LastArrived
	// is LastProxy so.
	Arrived     *Distribution `json:"arrived,omitempty" unit:"s"`
	LastArrived *Distribution `json:"lastArrived,omitempty" unit:"s"`
	// FirstProxy, LastProxy and Spread have a sample per complete mutation that
	// reached a proxy.
	FirstProxy *Distribution `json:"firstProxy,omitempty" unit:"s"`
	LastProxy  *Distribution `json:"lastProxy,omitempty" unit:"s"`
	Spread     *Distribution `json:"spread,omitempty" unit:"s"`
	// PushesPerProxy has a sample per proxy that ever was ready: the responses by which
	// mutations arrived at it. MutationsPerPush has one per such response: how many did.
	PushesPerProxy   *Distribution `json:"pushesPerProxy,omitempty"`
	MutationsPerPush *Distribution `json:"mutationsPerPush,omitempty"`
	// Noise is how far the quantiles of All scatter within the run.
	Noise *Noise `json:"noise,omitempty"`
	// Expected is Deliveries + Undelivered + Interrupted + Retired + Pending.
	Expected    int64 `json:"expected"`
	Deliveries  int64 `json:"deliveries"`
	Coalesced   int64 `json:"coalesced"`
	Undelivered int64 `json:"undelivered"`
	Interrupted int64 `json:"interrupted"`
	Retired     int64 `json:"retired"`
	// Pending pairs had neither arrived nor failed to when the run was interrupted.
	Pending int64 `json:"pending,omitempty"`
	// Unobserved deliveries have no latency: the state came back before anything
	// was sent. Unrecordable ones lie outside what a histogram holds (negative, or
	// over an hour). Both are part of Deliveries.
	Unobserved   int64 `json:"unobserved,omitempty"`
	Unrecordable int64 `json:"unrecordable,omitempty"`
	// ReceivedBeforeAck deliveries precede the API server's answer: not in FromAck.
	ReceivedBeforeAck int64 `json:"receivedBeforeAck,omitempty"`
	// UnknownStates received states equal none that the mesh had since the proxy's
	// last one; Regressed are those that equal an older one.
	UnknownStates int64 `json:"unknownStates"`
	Regressed     int64 `json:"regressed,omitempty"`
	// Recurred received states show that the one before, which the mesh had more
	// than once, was taken for its newest occurrence too early. Of up to as many
	// deliveries per mutation between the two the latency is too short.
	Recurred int64          `json:"recurred,omitempty"`
	Examples []UnknownState `json:"unknownStateExamples,omitempty"`
}

// UnknownState is one received state that no mutation explains.
type UnknownState struct {
	Proxy     int     `json:"proxy"`
	Cluster   string  `json:"cluster"`
	Received  string  `json:"received"`
	Held      string  `json:"held,omitempty"`
	Regressed bool    `json:"regressed,omitempty"`
	At        float64 `json:"at" unit:"s"`
}

// Volume is what proxies received.
type Volume struct {
	ByType             map[string]Traffic        `json:"byType"`
	ByVariant          map[string]VariantTraffic `json:"byVariant"`
	WireBytes          *WireBytes                `json:"wireBytes,omitempty"`
	DuplicateResources int64                     `json:"duplicateResources"`
	// Resent counts, by type, the responses that brought nothing: each of their resources
	// was byte-equal to what the proxy held, or not asked for.
	Resent map[string]int64 `json:"resent,omitempty"`
}

// Traffic counts responses and what they carried. Bytes are those of gRPC
// messages, without framing.
type Traffic struct {
	Responses int64 `json:"responses"`
	Resources int64 `json:"resources"`
	Removed   int64 `json:"removed"`
	Bytes     int64 `json:"bytes" unit:"bytes"`
}

// VariantTraffic is the traffic of one variant, and per type.
type VariantTraffic struct {
	Traffic
	ByType map[string]Traffic `json:"byType,omitempty"`
}

// WireBytes are the bytes read from and written to the connections.
type WireBytes struct {
	In  int64 `json:"in" unit:"bytes"`
	Out int64 `json:"out" unit:"bytes"`
}

// Acks counts the proxies' answers over the whole run.
type Acks struct {
	Sent          int64            `json:"sent"`
	NacksInjected int64            `json:"nacksInjected"`
	NacksInvalid  int64            `json:"nacksInvalid"`
	NacksByType   map[string]int64 `json:"nacksByType,omitempty"`
	// Reasons count NACKs by the text of their error detail.
	Reasons map[string]int64 `json:"reasons,omitempty"`
	// NackLoopRate is, per second of the steady phase and drain, the NACKs that
	// followed another of the same proxy and type with no ACK between.
	NackLoopRate float64 `json:"nackLoopRate,omitempty"`
	// AnswerTime is from a response's receipt until its ACK was handed to gRPC, in
	// the steady phase and the drain; it includes proxies.applyDelay.
	AnswerTime *Distribution `json:"answerTime,omitempty" unit:"s"`
}

// Convergence compares the proxies' final states with the mesh's.
type Convergence struct {
	// Diverged counts proxies that hold a wrong set of endpoints somewhere.
	Diverged int `json:"diverged"`
	// StaleEndpoints are held but should be gone; MissingEndpoints the reverse.
	// Both are summed over proxies.
	StaleEndpoints   int64 `json:"staleEndpoints"`
	MissingEndpoints int64 `json:"missingEndpoints"`
	// MissingClusters are clusters of the mesh that a proxy does not subscribe
	// to, summed over proxies: it was never told of them.
	MissingClusters int64 `json:"missingClusters,omitempty"`
	// StaleEndpointsInOutage is the most that were held at the end of a time
	// without a control plane; absent if there was none.
	StaleEndpointsInOutage *int64 `json:"staleEndpointsInOutage,omitempty"`
	StuckWarming           *int   `json:"stuckWarming,omitempty"`
	// DivergedResources are clusters, listeners, virtual hosts and workloads that the
	// run's changes concern and that a proxy does not hold as the mesh wants them.
	DivergedResources int64 `json:"divergedResources,omitempty"`
	// OrderingViolations are resources that nothing had subscribed to.
	OrderingViolations int64        `json:"orderingViolations"`
	Examples           []Divergence `json:"examples,omitempty"`
}

// Divergence is one resource in which a proxy differs from the mesh.
type Divergence struct {
	Proxy int `json:"proxy"`
	// Type is empty for the endpoints of a cluster, of which Stale and Missing count
	// those in which the proxy differs; else it is a type such as "cds", with the state
	// that the proxy held and the one it should have.
	Type    string `json:"type,omitempty"`
	Cluster string `json:"cluster"`
	Stale   int    `json:"stale"`
	Missing int    `json:"missing"`
	Held    string `json:"held,omitempty"`
	Wanted  string `json:"wanted,omitempty"`
}

// Harness says what the harness cost, and whether it was the bottleneck.
type Harness struct {
	CPUSeconds   *float64 `json:"cpuSeconds,omitempty" unit:"s"`
	WallSeconds  *float64 `json:"wallSeconds,omitempty" unit:"s"`
	PeakRSSBytes *int64   `json:"peakRSSBytes,omitempty" unit:"bytes"`
	// SteadyCores is how many processors it kept busy on average under steady load.
	SteadyCores *float64 `json:"steadyCores,omitempty"`
	GOMAXPROCS  int      `json:"gomaxprocs,omitempty"`
	// ScheduleLag is from scheduled to issued; StampLag from when a
	// message's last bytes reached this machine to its stamp, a part of every latency
	// that is our own.
	ScheduleLag *Distribution `json:"scheduleLag,omitempty" unit:"s"`
	StampLag    *Distribution `json:"stampLag,omitempty" unit:"s"`
	// Unstamped responses of steady load had no time of arrival: they are not in StampLag.
	Unstamped  int64    `json:"unstamped,omitempty"`
	GCPauseMax *float64 `json:"gcPauseMax,omitempty" unit:"s"`
	// RunQueueP99 is how long our goroutines waited for a processor, at the 99th
	// percentile: the upper edge of the runtime's bucket.
	RunQueueP99 *float64 `json:"runQueueP99,omitempty" unit:"s"`
	// Saturated says that the harness was the bottleneck, Reasons why. Unknown says why
	// that could not be judged; it is empty where it could.
	Saturated bool     `json:"saturated"`
	Reasons   []string `json:"reasons,omitempty"`
	Unknown   string   `json:"unknown,omitempty"`
}

// Plus adds the counts of another.
func (t Traffic) Plus(o Traffic) Traffic {
	return Traffic{
		Responses: t.Responses + o.Responses,
		Resources: t.Resources + o.Resources,
		Removed:   t.Removed + o.Removed,
		Bytes:     t.Bytes + o.Bytes,
	}
}

// SLO is the verdict on one limit.
type SLO struct {
	Metric string `json:"metric"`
	// Limit is as the profile has it.
	Limit string `json:"limit"`
	// Value is absent if the run did not measure the metric; the SLO is then missed.
	Value *float64 `json:"value,omitempty"`
	// Unit of Value is "s", "bytes" or empty.
	Unit string `json:"unit,omitempty"`
	// Note qualifies Value, such as "max of 60" where the samples are too few for the
	// quantile.
	Note string `json:"note,omitempty"`
	Pass bool   `json:"pass"`
}
