package observed

// ControlPlane describes the control plane under test.
type ControlPlane struct {
	Kind         string   `json:"kind,omitempty"`
	Version      string   `json:"version,omitempty"`
	CPUSeconds   *float64 `json:"cpuSeconds,omitempty" unit:"s"`
	PeakRSSBytes *int64   `json:"peakRSSBytes,omitempty" unit:"bytes"`
	// Idle is what it used before that, with nothing changing; absent if that was not
	// measured.
	Idle *Idle `json:"idle,omitempty"`
	// Steady is what it cost from the start of steady load to the end of the drain.
	Steady  *Cost    `json:"steady,omitempty"`
	Work    *Work    `json:"work,omitempty"`
	Metrics *Metrics `json:"metrics,omitempty"`
	// Missing lists the metrics that stages and signals need and that it does
	// not serve.
	Missing []string `json:"missing,omitempty"`
	Stages  *Stages  `json:"stages,omitempty"`
	Signals *Signals `json:"signals,omitempty"`
	// ProxyStatus is what it says of the proxies at the end of the run, if it has
	// istiod's page /debug/syncz.
	ProxyStatus *ProxyStatus     `json:"proxyStatus,omitempty"`
	Profiles    []ProfileSummary `json:"profiles,omitempty"`
	// Replicas are there if there are several. The sums over them are above.
	Replicas []Replica `json:"replicas,omitempty"`
	// ConnectionImbalance is the most connections of a replica at the end, over the
	// mean of all: 1 if they are even, as many as there are replicas if one has all.
	ConnectionImbalance *float64 `json:"connectionImbalance,omitempty"`
}

// ProxyStatus counts, over all connected proxies, the types that each asked for,
// by whether the control plane has the ACK of what it sent last. The names are
// those of istioctl proxy-status.
type ProxyStatus struct {
	Proxies int `json:"proxies"`
	Synced  int `json:"synced"`
	NotSent int `json:"notSent"`
	Stale   int `json:"stale"`
}

// Cost is what a process used in a span of time.
type Cost struct {
	WallSeconds float64 `json:"wallSeconds" unit:"s"`
	CPUSeconds  float64 `json:"cpuSeconds" unit:"s"`
	// Cores is CPUSeconds per second; PeakCores that of the busiest second.
	Cores     float64 `json:"cores"`
	PeakCores float64 `json:"peakCores"`
	// PeakRSSBytes is the largest resident memory seen at the end of a second.
	PeakRSSBytes int64 `json:"peakRSSBytes" unit:"bytes"`
	// AllocatedBytes are those of its heap's allocations, freed ones included. The net
	// figures are without what an Idle control plane uses in the same time.
	AllocatedBytes          *float64 `json:"allocatedBytes,omitempty" unit:"bytes"`
	NetCPUSeconds           *float64 `json:"netCPUSeconds,omitempty" unit:"s"`
	NetAllocatedBytes       *float64 `json:"netAllocatedBytes,omitempty" unit:"bytes"`
	NetCPUPerMutation       *float64 `json:"netCPUPerMutation,omitempty" unit:"s"`
	NetAllocatedPerMutation *float64 `json:"netAllocatedPerMutation,omitempty" unit:"bytes"`
	CPUPerPush              *float64 `json:"cpuPerPush,omitempty" unit:"s"`
	NetCPUPerPush           *float64 `json:"netCPUPerPush,omitempty" unit:"s"`
}

// Work is what a control plane did from the start of steady load to the end of the
// drain, by its own metrics. What it does not count is absent.
type Work struct {
	// Pushes is how many responses it sent, of all types, but for those that failed:
	// one push is of one type to one proxy. DebounceRounds is how often it ended a
	// debounce and pushed. Both are absent too if it was restarted meanwhile.
	Pushes         *int64 `json:"pushes,omitempty"`
	DebounceRounds *int64 `json:"debounceRounds,omitempty"`
	// ConvergenceTime is from a change until a proxy was sent it.
	ConvergenceTime *Quantiles `json:"convergenceTime,omitempty" unit:"s"`
}

// ProfileSummary says what one pprof profile of the control plane holds.
type ProfileSummary struct {
	// Kind is "cpu", "heap", "allocs", "mutex", "block", "goroutine" or "trace".
	Kind string `json:"kind"`
	// File is its path within the results folder.
	File string `json:"file"`
	// Seconds is how long was observed; 0 is a snapshot.
	Seconds float64 `json:"seconds,omitempty" unit:"s"`
	// Sample is what Total counts, such as "cpu" in "nanoseconds".
	Sample string `json:"sample,omitempty"`
	Unit   string `json:"unit,omitempty"`
	Total  int64  `json:"total,omitempty"`
	// Parts is each part's share of Total, from 0 to 1.
	Parts map[string]float64 `json:"parts,omitempty"`
	// Top are the functions with the largest share of their own.
	Top []FunctionShare `json:"top,omitempty"`
}

// FunctionShare is one function's own share of a profile.
type FunctionShare struct {
	Function string  `json:"function"`
	Part     string  `json:"part"`
	Share    float64 `json:"share"`
}

// Replica is one of several replicas of a control plane.
type Replica struct {
	Address string `json:"address"`
	// PID is the process's at the end of the run, 0 if it is not ours.
	PID int `json:"pid,omitempty"`
	// The proxies connected to it: when steady load began, the fewest and the most
	// at the end of a second of steady load and drain, and at the end of the drain.
	ConnectionsAtSteadyStart int `json:"connectionsAtSteadyStart"`
	ConnectionsMin           int `json:"connectionsMin"`
	ConnectionsMax           int `json:"connectionsMax"`
	ConnectionsAtEnd         int `json:"connectionsAtEnd"`
	// CPUSeconds is of all its lives; PeakRSSBytes of the largest.
	CPUSeconds   *float64 `json:"cpuSeconds,omitempty" unit:"s"`
	PeakRSSBytes *int64   `json:"peakRSSBytes,omitempty" unit:"bytes"`
	// Responses are what its proxies received in steady load and drain; Pushes what
	// it sent by its own count, from its last start if it was started meanwhile.
	Responses int64  `json:"responses"`
	Pushes    *int64 `json:"pushes,omitempty"`
	Restarted bool   `json:"restarted,omitempty"`
	// Of the pairs of its proxies: how many were delivered and were not, and the
	// latencies of the former; Diverged counts its proxies that ended with a wrong
	// state. Absent in results of schema v1 and where it was not checked.
	Deliveries  *int64   `json:"deliveries,omitempty"`
	Undelivered *int64   `json:"undelivered,omitempty"`
	Diverged    *int     `json:"diverged,omitempty"`
	P50         *float64 `json:"p50,omitempty" unit:"s"`
	P99         *float64 `json:"p99,omitempty" unit:"s"`
}

// AddImbalance works ConnectionImbalance out from Replicas, if there are any with
// connections.
func (c *ControlPlane) AddImbalance() {
	most, sum := 0, 0
	for i := range c.Replicas {
		most, sum = max(most, c.Replicas[i].ConnectionsAtEnd), sum+c.Replicas[i].ConnectionsAtEnd
	}
	if sum > 0 {
		c.ConnectionImbalance = new(float64(most*len(c.Replicas)) / float64(sum))
	}
}
