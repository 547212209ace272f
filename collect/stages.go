package collect

import (
	"fmt"
	"time"
)

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

// Stages splits the way from a mutation's intended time to its receipt by a
// proxy. All but Ack, which comes after it, are parts of Total, and their means
// add up to its mean. A stage whose metrics the control plane does not serve is
// absent, and its time is then part of Watch and Wire.
type Stages struct {
	// Schedule is from intended to issued, Write from issued to the API server's
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

// Debounce is how a control plane debounces; the zero value is one that is not
// known to.
type Debounce struct {
	// After is the quiet time that a push waits for, Max the longest wait since
	// the first event.
	After, Max time.Duration
	// Steady is how long mutations were issued.
	Steady time.Duration
	// Replicas is how many of them each mutation was debounced by; 0 means one.
	Replicas int
}

// AddStages fills in the stages from our own stamps and the control plane's
// metrics, and returns what is to be warned of. ControlPlane must be set.
func (r *Result) AddStages(d Debounce) (warnings []string) {
	if r.Propagation == nil || r.Propagation.All == nil {
		return nil
	}
	s := &Stages{Total: own(r.Propagation.All)}
	if r.Mutations != nil {
		s.Write = own(r.Mutations.WriteTime)
	}
	if r.Acks != nil {
		s.Ack = own(r.Acks.AnswerTime)
	}
	if h := r.Harness; h != nil {
		s.Schedule, s.Receive = own(h.ScheduleLag), own(h.StampLag)
	}
	if m := r.ControlPlane.Metrics; m != nil && !m.Restarted {
		s.addScraped(m.Histograms)
		if q := m.Histograms["pilot_debounce_time"]; q != nil && r.Mutations != nil {
			visible := r.Mutations.Applied - r.Mutations.Silent
			s.MutationsPerPush = float64(visible) * float64(max(1, d.Replicas)) / float64(q.Count)
			s.Debounce.perMutation(s.MutationsPerPush, d.After.Seconds())
		}
	}
	s.addRest(own(r.Propagation.FirstProxy))
	for _, x := range append(s.before(), s.Watch, s.Queue, s.Wire, s.Ack, s.Total) {
		if x != nil && s.Total.Mean > 0 {
			x.Share = x.Mean / s.Total.Mean
		}
	}
	r.ControlPlane.Stages = s
	return r.neverQuiet(d)
}

func (s *Stages) addScraped(h map[string]*Quantiles) {
	s.PushContext = scraped(h["pilot_pushcontext_init_seconds"])
	// istiod's histogram of the debounce ends when the push has been queued, so it
	// includes the push context.
	s.Debounce = scraped(h["pilot_debounce_time"]).less(s.PushContext)
	if d, c := h["pilot_debounce_time"], s.PushContext; d != nil && c != nil && c.Count < d.Count {
		c.Mean *= float64(c.Count) / float64(d.Count) // spread over all pushes
	}
	s.Queue = scraped(h["pilot_proxy_queue_time"])
	s.Send = scraped(h["pilot_xds_send_time"])
	// The time of a push ends when Send has returned.
	s.Push = scraped(h["pilot_xds_push_time"]).less(s.Send)
}

// before returns the measured stages until the first proxy has a mutation.
func (s *Stages) before() []*Stage {
	return []*Stage{s.Schedule, s.Write, s.Debounce, s.PushContext, s.Push, s.Send, s.Receive}
}

// addRest works out Watch and Wire. Without a first proxy all the rest is Watch.
func (s *Stages) addRest(first *Stage) {
	if first == nil {
		s.Watch = s.Total.rest(append(s.before(), s.Queue)...)
		return
	}
	s.Watch = first.rest(s.before()...)
	s.Wire = s.Total.rest(first, s.Queue)
}

// rest returns what is left of a stage without others.
func (s *Stage) rest(others ...*Stage) *Stage {
	// A difference of 99th percentiles would say nothing.
	rest := &Stage{Source: SourceEstimated, Mean: s.Mean, P50: s.P50}
	for _, x := range others {
		if x != nil {
			rest.Mean -= x.Mean
			rest.P50 -= x.P50
			rest.Width += x.Width
		}
	}
	return rest
}

func own(d *Distribution) *Stage {
	if d == nil {
		return nil
	}
	return &Stage{Source: SourceOurs, Count: d.Count, Mean: d.Mean, P50: d.P50, P99: d.P99}
}

func scraped(q *Quantiles) *Stage {
	if q == nil {
		return nil
	}
	s := &Stage{
		Source: SourceScraped, Count: q.Count, Mean: q.Mean, P50: q.P50, P99: q.P99,
		Width: q.P50Width, P99Width: q.Width, Beyond: q.Beyond,
	}
	if q.P50Low <= q.Mean && q.Mean <= q.P50Low+q.P50Width {
		s.P50 = q.Mean
	}
	return s
}

// less takes out a stage that is part of this one, in some or all observations.
func (s *Stage) less(part *Stage) *Stage {
	if s == nil || part == nil {
		return s
	}
	s.Mean -= part.Mean * min(1, float64(part.Count)/float64(s.Count))
	if 2*part.Count > s.Count { // else the median push had no such part
		s.P50 -= part.P50
		s.Width += part.Width
	}
	return s
}

// perMutation turns waits per push, which begin with the push's first event,
// into waits per mutation. Of n mutations spread evenly over a push's wait, the
// first waits all of it and the last the quiet time at its end.
func (s *Stage) perMutation(perPush, quiet float64) {
	if perPush <= 1.05 || s.Mean <= 0 {
		return
	}
	alone := max(2-perPush, 0) / perPush // the share of mutations that had a push alone
	for _, wait := range []*float64{&s.Mean, &s.P50} {
		*wait = alone**wait + (1-alone)*(*wait+min(quiet, *wait))/2
	}
	s.Source = SourceEstimated
}

// neverQuiet warns of mutations that come so fast that the debounce seldom sees
// the quiet time it waits for: then the latency is waiting, not work.
func (r *Result) neverQuiet(d Debounce) []string {
	if d.After <= 0 || d.Steady <= 0 || r.Mutations == nil {
		return nil
	}
	visible := r.Mutations.Applied - r.Mutations.Silent
	if visible < 2 {
		return nil
	}
	interval := d.Steady / time.Duration(visible)
	if interval > d.After {
		return nil
	}
	return []string{fmt.Sprintf(
		"debounce: visible mutations came every %s on average, and the control plane waits for %s without one (PILOT_DEBOUNCE_AFTER): it seldom goes quiet, so the latency is mostly waiting, up to %s (PILOT_DEBOUNCE_MAX), and not the cost of pushes: lower the churn rate or PILOT_DEBOUNCE_AFTER to see that",
		interval.Round(time.Millisecond), d.After, d.Max)}
}
