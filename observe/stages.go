package observe

import (
	"fmt"
	"time"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// AddStages fills in the stages from our own stamps and the control plane's
// metrics, and returns what is to be warned of. ControlPlane must be set.
func AddStages(r *result.Result, d Debounce) (warnings []string) {
	if r.Propagation == nil || r.Propagation.All == nil {
		return nil
	}
	s := &observed.Stages{Total: own(r.Propagation.All)}
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
		addScraped(s, m.Histograms, r.Propagation.All.Max)
		if q := m.Histograms["pilot_debounce_time"]; q != nil && r.Mutations != nil {
			visible := r.Mutations.Applied - r.Mutations.Noop
			s.MutationsPerPush = float64(visible) * float64(max(1, d.Replicas)) / float64(q.Count)
			perMutation(s.Debounce, s.MutationsPerPush, d.After.Seconds())
		}
	}
	addRest(s, own(r.Propagation.FirstProxy))
	s.Attribute()
	r.ControlPlane.Stages = s
	return neverQuiet(r, d)
}

// addScraped takes the stages that the control plane's histograms show. The slowest
// delivery bounds their quantiles.
func addScraped(s *observed.Stages, h map[string]*observed.Quantiles, slowest float64) {
	scraped := func(name string) *observed.Stage { return scraped(h[name], slowest) }
	s.PushContext = scraped("pilot_pushcontext_init_seconds")
	// istiod's histogram of the debounce ends when the push has been queued, so it
	// includes the push context.
	s.Debounce = without(scraped("pilot_debounce_time"), s.PushContext)
	if d, c := h["pilot_debounce_time"], s.PushContext; d != nil && c != nil && c.Count < d.Count {
		c.Mean *= float64(c.Count) / float64(d.Count) // spread over all pushes
	}
	s.Queue = scraped("pilot_proxy_queue_time")
	s.Send = scraped("pilot_xds_send_time")
	// The time of a push ends when Send has returned.
	s.Push = without(scraped("pilot_xds_push_time"), s.Send)
}

// before returns the measured stages until the first proxy has a mutation.
func before(s *observed.Stages) []*observed.Stage {
	return []*observed.Stage{s.Schedule, s.Write, s.Debounce, s.PushContext, s.Push, s.Send, s.Receive}
}

// addRest works out Watch and Wire. Without a first proxy all the rest is Watch.
func addRest(s *observed.Stages, first *observed.Stage) {
	if first == nil {
		s.Watch = rest(s.Total, append(before(s), s.Queue)...)
		return
	}
	s.Watch = rest(first, before(s)...)
	s.Wire = rest(s.Total, first, s.Queue)
}

// rest returns what others leave of a stage. Its quantiles are not known: the others'
// do not add up.
func rest(s *observed.Stage, others ...*observed.Stage) *observed.Stage {
	left := &observed.Stage{Source: observed.SourceEstimated, Mean: s.Mean}
	for _, x := range others {
		if x != nil {
			left.Mean -= x.Mean
		}
	}
	return left
}

func own(d *result.Distribution) *observed.Stage {
	if d == nil {
		return nil
	}
	return &observed.Stage{Source: observed.SourceOurs, Count: d.Count, Mean: d.Mean, P50: &d.P50, P99: &d.P99}
}

func scraped(q *observed.Quantiles, slowest float64) *observed.Stage {
	if q == nil {
		return nil
	}
	s := &observed.Stage{Source: observed.SourceScraped, Count: q.Count, Mean: q.Mean}
	median := q.P50
	if b := q.P50Bucket; b != nil && b.Low <= q.Mean && b.High != nil && q.Mean <= *b.High {
		median = q.Mean
	}
	s.P50, s.P50Bucket = within(median, q.P50Bucket, slowest)
	s.P99, s.P99Bucket = within(q.P99, q.P99Bucket, slowest)
	return s
}

// within bounds a quantile and its bucket.
func within(value float64, b *observed.Bucket, limit float64) (*float64, *observed.Bucket) {
	value = min(value, limit)
	if b == nil {
		return &value, nil
	}
	return &value, new(b.Below(limit))
}

// without takes a stage that is part of this one, in some or all observations, out of
// its mean. Of its quantiles nothing can be taken out.
func without(s, part *observed.Stage) *observed.Stage {
	if s != nil && part != nil {
		s.Mean = max(s.Mean-part.Mean*min(1, float64(part.Count)/float64(s.Count)), 0)
	}
	return s
}

// perMutation turns a mean of waits per push, which begin with the push's first
// event, into one of waits per mutation. Of n mutations spread evenly over a push's wait, the
// first waits all of it and the last the quiet time at its end.
func perMutation(s *observed.Stage, perPush, quiet float64) {
	if perPush <= 1.05 || s.Mean <= 0 {
		return
	}
	alone := max(2-perPush, 0) / perPush // the share of mutations that had a push alone
	s.Mean = alone*s.Mean + (1-alone)*(s.Mean+min(quiet, s.Mean))/2
	s.Source = observed.SourceEstimated
}

// neverQuiet warns of mutations that come so fast that the debounce seldom sees
// the quiet time it waits for: then the latency is waiting, not work.
func neverQuiet(r *result.Result, d Debounce) []string {
	if d.After <= 0 || d.Steady <= 0 || r.Mutations == nil {
		return nil
	}
	visible := r.Mutations.Applied - r.Mutations.Noop
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
