package effect

import "slices"

// Kind is what the mutations of one kind of churn caused under steady load and in the
// drain. Each response counts for the newest mutation issued before it was received:
// exactly on a mesh where one change at a time happens, and for the nearest of those
// that it may carry on a busy one.
type Kind struct {
	// Applied and Noop count mutations; Operations are the changes that they are steps
	// of, such as a pod deleted in two writes.
	Applied    int `json:"applied"`
	Noop       int `json:"noop"`
	Operations int `json:"operations"`
	Effect
	// ByVariant is the same by the proxies' variant.
	ByVariant map[string]*Effect `json:"byVariant,omitempty"`
	// Cost is there if the kind had a window of its own.
	Cost *Cost `json:"cost,omitempty"`
}

// Effect is what was sent because of some mutations, and when it arrived.
type Effect struct {
	Types map[string]Sent `json:"types,omitempty"`
	// FullShare is the share of full pushes among the mutations that caused any: those
	// with types that do not carry endpoints, workloads or authorization alone.
	FullShare float64 `json:"fullShare"`
	// ProxiesReached is the most distinct proxies that had a response because of one
	// mutation.
	ProxiesReached int `json:"proxiesReached"`
	// Duplicates are resources that were byte-equal to what the proxy held.
	Duplicates int64 `json:"duplicates"`
	// ChangedBytes are those of the resources that were new to the proxy, and of the
	// names of those that it lost. Amplification is the bytes of all responses over
	// these; absent if nothing changed.
	ChangedBytes  int64    `json:"changedBytes" unit:"bytes"`
	Amplification *float64 `json:"amplification,omitempty"`
	// P50 is the median of the latencies of all deliveries, Last that of the latencies
	// of each complete mutation's last proxy; from scheduled, within 1 %.
	P50  *float64 `json:"p50,omitempty" unit:"s"`
	Last *float64 `json:"last,omitempty" unit:"s"`
}

// Sent counts responses and what they carried. Bytes are those of gRPC messages,
// without framing.
type Sent struct {
	Responses int64 `json:"responses"`
	Resources int64 `json:"resources"`
	Removed   int64 `json:"removed"`
	Bytes     int64 `json:"bytes" unit:"bytes"`
}

// Plus adds the counts of another.
func (s Sent) Plus(o Sent) Sent {
	return Sent{s.Responses + o.Responses, s.Resources + o.Resources, s.Removed + o.Removed, s.Bytes + o.Bytes}
}

// Total adds up all types.
func (e *Effect) Total() Sent {
	var sum Sent
	for _, s := range e.Types {
		sum = sum.Plus(s)
	}
	return sum
}

// Add adds what was sent of a type, changed bytes of which were news.
func (e *Effect) Add(typ string, s Sent, changed, duplicates int64) {
	if e.Types == nil {
		e.Types = make(map[string]Sent)
	}
	e.Types[typ] = e.Types[typ].Plus(s)
	e.ChangedBytes += changed
	e.Duplicates += duplicates
	if e.ChangedBytes > 0 {
		e.Amplification = new(float64(e.Total().Bytes) / float64(e.ChangedBytes))
	}
}

// Full reports whether types are those of a full push.
func Full(types ...string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return t != "eds" && t != "workload" && t != "authorization" })
}

// Cost is what the control plane used in a span of time, and what of that is more than
// it used when nothing changed. What it does not tell is absent.
type Cost struct {
	WallSeconds float64 `json:"wallSeconds" unit:"s"`
	CPUSeconds  float64 `json:"cpuSeconds" unit:"s"`
	// AllocatedBytes are those of its heap's allocations, freed ones included.
	AllocatedBytes *float64 `json:"allocatedBytes,omitempty" unit:"bytes"`
	// Pushes are the responses that it sent by its own count.
	Pushes *float64 `json:"pushes,omitempty"`
	// CacheHits and CacheMisses are reads of its cache of generated resources.
	CacheHits   *float64 `json:"cacheHits,omitempty"`
	CacheMisses *float64 `json:"cacheMisses,omitempty"`
	// The net figures are those above without the idle rate over the same time. They
	// can be below zero where noise is larger than the load.
	NetCPUSeconds     *float64 `json:"netCPUSeconds,omitempty" unit:"s"`
	NetAllocatedBytes *float64 `json:"netAllocatedBytes,omitempty" unit:"bytes"`
}

// Proxies are the proxies of one kind, such as routers. Quantiles are within 1 %, but
// those of latencies within 10 % in fleets of one kind.
type Proxies struct {
	Count int `json:"count"`
	Ready int `json:"ready"`
	// TimeToReadyP50 and TimeToReadyMax are from when the first attempt was due.
	TimeToReadyP50 *float64 `json:"timeToReadyP50,omitempty" unit:"s"`
	TimeToReadyMax *float64 `json:"timeToReadyMax,omitempty" unit:"s"`
	// ReadyAgainP50 and ReadyAgainMax are of the reconnects, from the attempt that succeeded.
	ReadyAgainP50 *float64 `json:"readyAgainP50,omitempty" unit:"s"`
	ReadyAgainMax *float64 `json:"readyAgainMax,omitempty" unit:"s"`
	// ConfigBytes is the mean of what they held when first ready.
	ConfigBytes float64 `json:"configBytes" unit:"bytes"`
	// Volume is what they received under steady load and in the drain, by type.
	Volume map[string]Sent `json:"volume,omitempty"`
	// Deliveries and Undelivered are pairs; P50, P99 and Max the former's latencies.
	Deliveries  int64    `json:"deliveries"`
	Undelivered int64    `json:"undelivered"`
	P50         *float64 `json:"p50,omitempty" unit:"s"`
	P99         *float64 `json:"p99,omitempty" unit:"s"`
	Max         *float64 `json:"max,omitempty" unit:"s"`
}
