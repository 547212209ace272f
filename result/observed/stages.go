package observed

import "github.com/xdsbench/xdsbench/internal/quantile"

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
	// Source is "ours", "scraped" or "estimated", and is that of Mean.
	Source string  `json:"source"`
	Count  int64   `json:"count,omitempty"`
	Mean   float64 `json:"mean"`
	// P50 and P99 are absent where they are not known, as for what is left of other
	// stages.
	P50 *float64 `json:"p50,omitempty"`
	P99 *float64 `json:"p99,omitempty"`
	// P50Bucket and P99Bucket are all that is known of scraped quantiles; P50 and P99
	// are interpolated within, but P50 is the mean where that lies in the same bucket:
	// it is exact. No part of a delivery's way takes longer than the slowest delivery,
	// so both end there; one without an upper edge lies above, and is of pushes that no
	// measured delivery was part of.
	P50Bucket *Bucket `json:"p50Bucket,omitempty"`
	P99Bucket *Bucket `json:"p99Bucket,omitempty"`
	// Share is Mean in relation to the mean of the total. It is absent where the stages
	// overlap by more than they leave unattributed, since the shares would then add up
	// to more than the whole, and of what is not part of the total.
	Share *float64 `json:"share,omitempty" unit:"-"`
}

// Mark is what to write beside a quantile of too few samples, as of a Distribution.
func (s *Stage) Mark(field string) string { return quantile.Mark(field, s.Count) }

// Stages splits the way from a mutation's scheduled time to its receipt by a
// proxy. All but Ack, which comes after it, are parts of Total, and their means
// add up to its mean unless they overlap. A stage whose metrics the control plane
// does not serve is absent, and its time is then part of Watch and Wire.
type Stages struct {
	// Schedule is from scheduled to issued, Write from issued to the API server's
	// answer.
	Schedule *Stage `json:"schedule,omitempty" unit:"s"`
	Write    *Stage `json:"write,omitempty" unit:"s"`
	// Watch is what is left of the time until the first proxy has the mutation:
	// the API server's watch, the control plane's informers and hand-overs. It is
	// estimated.
	Watch *Stage `json:"watch,omitempty" unit:"s"`
	// Debounce is the wait for quiet, PushContext left out of its mean. The control
	// plane counts it once per push, from the push's first event; where pushes carry
	// several mutations the mean is estimated per mutation.
	Debounce    *Stage `json:"debounce,omitempty" unit:"s"`
	PushContext *Stage `json:"pushContext,omitempty" unit:"s"`
	// Queue is until a push slot takes the proxy.
	Queue *Stage `json:"queue,omitempty" unit:"s"`
	// Push is generation, its mean without Send, which is the call that hands the
	// response to gRPC and includes its marshalling.
	Push *Stage `json:"push,omitempty" unit:"s"`
	Send *Stage `json:"send,omitempty" unit:"s"`
	// Wire is what is left of the time by which a proxy trails the first one,
	// after Queue: waiting for a processor within the control plane's transport,
	// and the wire. It is estimated, like Watch.
	Wire *Stage `json:"wire,omitempty" unit:"s"`
	// Receive is from when the message's last bytes reached this machine to the stamp
	// of the whole message.
	Receive *Stage `json:"receive,omitempty" unit:"s"`
	// Unattributed stands for Watch and Wire where the others take up more time than
	// there is for one of them: what all leave of Total, at least 0.
	Unattributed *Stage `json:"unattributed,omitempty" unit:"s"`
	// Overlap is by how much the means of the others exceed that time. It is there if
	// Unattributed is.
	Overlap *float64 `json:"overlap,omitempty" unit:"s"`
	// Ack is from receipt until the answer was handed to gRPC.
	Ack   *Stage `json:"ack,omitempty" unit:"s"`
	Total *Stage `json:"total,omitempty" unit:"s"`
	// MutationsPerPush is how many visible mutations a debounced push carried.
	MutationsPerPush float64 `json:"mutationsPerPush,omitempty" unit:"-"`
}

// rounding is how far below zero, in seconds, a sum of means is zero.
const rounding = 1e-9

// Attribute gives the stages their shares of Total. If Watch or Wire is negative, the
// other stages overlap, and Unattributed takes the place of both.
func (s *Stages) Attribute() {
	if s.Total == nil || s.Total.Mean <= 0 || s.Unattributed != nil {
		return
	}
	parts := []*Stage{s.Schedule, s.Write, s.Debounce, s.PushContext, s.Queue, s.Push, s.Send, s.Receive}
	overlap, left := 0.0, s.Total.Mean
	for _, rest := range []*Stage{s.Watch, s.Wire} {
		if rest != nil && rest.Mean < -rounding {
			overlap -= rest.Mean
		}
	}
	if overlap == 0 {
		parts = append(parts, s.Watch, s.Wire)
	} else {
		for _, part := range parts {
			if part != nil {
				left -= part.Mean
			}
		}
		s.Watch, s.Wire, s.Overlap = nil, nil, &overlap
		s.Unattributed = &Stage{Source: SourceEstimated, Mean: max(left, 0)}
	}
	for _, x := range append(parts, s.Unattributed, s.Total) {
		if x != nil && (left >= 0 || x == s.Unattributed || x == s.Total) {
			x.Share = new(max(x.Mean, 0) / s.Total.Mean)
		}
	}
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
