package observed

// Where the figures of a stage come from.
const (
	// SourceOurs: the harness stamped both ends.
	SourceOurs = "ours"
	// SourceScraped: a histogram of the control plane's.
	SourceScraped = "scraped"
	// SourceEstimated: worked out from other figures; see Stages.
	SourceEstimated = "estimated"
)

// Stage is one part of the way from a mutation to a proxy, in seconds.
type Stage struct {
	// Source is "ours", "scraped" or "estimated".
	Source string  `json:"source"`
	Count  int64   `json:"count,omitempty"`
	Mean   float64 `json:"mean"`
	// P50 is, of a scraped stage, the mean where that lies in the same bucket as
	// the median (it is exact, and the bucket says no more), and interpolated
	// within the bucket elsewhere.
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	// Width and P99Width are the uncertainty of P50 and P99: the widths of the
	// buckets they lie in. Zero: within 1 %.
	Width    float64 `json:"width,omitempty"`
	P99Width float64 `json:"p99Width,omitempty"`
	// Beyond says that P99 lies above the last bucket edge, which is given instead.
	Beyond bool `json:"beyond,omitempty"`
	// Share is Mean in relation to the mean of the total. Means add up; quantiles
	// do so only roughly.
	Share float64 `json:"share" unit:"-"`
}

// Stages splits the way from a mutation's scheduled time to its receipt by a
// proxy. All but Ack, which comes after it, are parts of Total, and their means
// add up to its mean. A stage whose metrics the control plane does not serve is
// absent, and its time is then part of Watch and Wire.
type Stages struct {
	// Schedule is from scheduled to issued, Write from issued to the API server's
	// answer.
	Schedule *Stage `json:"schedule,omitempty" unit:"s"`
	Write    *Stage `json:"write,omitempty" unit:"s"`
	// Watch is what is left of the time until the first proxy has the mutation:
	// the API server's watch, the control plane's informers and hand-overs. It is
	// estimated, and negative where the figures of other stages overlap.
	Watch *Stage `json:"watch,omitempty" unit:"s"`
	// Debounce is the wait for quiet, PushContext left out. The control plane
	// counts it once per push, from the push's first event; where pushes carry
	// several mutations it is estimated per mutation.
	Debounce    *Stage `json:"debounce,omitempty" unit:"s"`
	PushContext *Stage `json:"pushContext,omitempty" unit:"s"`
	// Queue is until a push slot takes the proxy.
	Queue *Stage `json:"queue,omitempty" unit:"s"`
	// Push is generation, without Send, which is the call that hands the response
	// to gRPC and includes its marshalling.
	Push *Stage `json:"push,omitempty" unit:"s"`
	Send *Stage `json:"send,omitempty" unit:"s"`
	// Wire is what is left of the time by which a proxy trails the first one,
	// after Queue: waiting for a processor within the control plane's transport,
	// and the wire. It is estimated, like Watch.
	Wire *Stage `json:"wire,omitempty" unit:"s"`
	// Receive is from when the message's last bytes reached this machine to the stamp
	// of the whole message.
	Receive *Stage `json:"receive,omitempty" unit:"s"`
	// Ack is from receipt until the answer was handed to gRPC.
	Ack   *Stage `json:"ack,omitempty" unit:"s"`
	Total *Stage `json:"total,omitempty" unit:"s"`
	// MutationsPerPush is how many visible mutations a debounced push carried.
	MutationsPerPush float64 `json:"mutationsPerPush,omitempty" unit:"-"`
}

// Signals are the four golden signals, as far as the control plane's metrics and
// our own figures show them; times in seconds, sizes in bytes. Names with underscores
// are those of the control plane's own metrics, the others ours.
type Signals struct {
	Latency    map[string]float64 `json:"latency,omitempty"`
	Traffic    map[string]float64 `json:"traffic,omitempty"`
	Errors     map[string]float64 `json:"errors,omitempty"`
	Saturation map[string]float64 `json:"saturation,omitempty"`
}
