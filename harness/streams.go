package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result"
)

const (
	// firstAnswerAfter is how long after its connection was due a proxy must not have
	// been answered to count as never answered.
	firstAnswerAfter = 5 * time.Second
	// silentMutations is how many visible mutations must have gone by without any
	// response to call a control plane silent: fewer it may have lost.
	silentMutations = 3
)

// streams is what has come to the proxies by the end of a run.
type streams struct {
	now      event.Time
	proxies  []stream
	replicas []bool // of each, whether its metrics have timed out
	// pending pairs are of no known proxy, as in an interrupted run.
	pending int64
	// visible counts the mutations that proxies can see, issued after one time and up
	// to another.
	visible func(after, until event.Time) int
}

// stream is what has come to one proxy.
type stream struct {
	variant xds.Variant
	// replica is the number of that which the latest stream goes to; -1 if there never
	// was one.
	replica int
	open    bool
	due     event.Time // when it was to connect
	last    event.Time // when the last response came; 0 for never
	refused bool       // a connection attempt, and not because nobody answered
	missing []xds.Type // that it asked for and never got
	pending int64      // pairs that did not arrive
}

// readStreams describes the proxies' streams.
func (r *run) readStreams(res *result.Result, now event.Time) *streams {
	all := &streams{now: now, visible: r.churn.visibleBetween}
	for _, p := range r.replicas {
		_, silent := p.metrics.silentSince(now)
		all.replicas = append(all.replicas, silent)
	}
	if res.Propagation != nil {
		all.pending = res.Propagation.Pending
	}
	for i := range r.roster.names {
		due, present := r.dueOf(i)
		if !present {
			continue
		}
		s, state := &stream{due: due}, r.fleet.Stream(i)
		s.variant, s.replica, s.open = r.roster.variants[i], -1, state.Open
		s.refused = r.sink.refused[i].Load()
		for t, x := range state.Types {
			s.last = max(s.last, x.Responded)
			if x.Asked && x.Responded == 0 {
				s.missing = append(s.missing, xds.Type(t))
			}
		}
		if s.open || s.last != 0 {
			s.replica = r.ownerOf(state.Address)
		}
		if i < len(res.ProxyRows) {
			s.pending = res.ProxyRows[i].Undelivered
		}
		all.proxies = append(all.proxies, *s)
	}
	return all
}

// waits reports whether a proxy has waited long for its first response: on an open
// stream, or for one that nobody refused.
func (a *streams) waits(s *stream) bool {
	return s.last == 0 && (s.open || !s.refused) && a.now.Sub(s.due) >= firstAnswerAfter
}

// neverAnswered names the replicas that answered no proxy, or else the types that
// proxies of a variant asked for and never got.
func (a *streams) neverAnswered() []silence {
	waiting, open, answered := 0, 0, false
	for i := range a.proxies {
		s := &a.proxies[i]
		answered = answered || s.last != 0
		if a.waits(s) {
			waiting++
			if s.open {
				open++
			}
		}
	}
	if answered {
		return a.typesNeverAnswered()
	}
	if waiting == 0 {
		return nil
	}
	return []silence{{nameOfReplica(-1, len(a.replicas)), a.proxies[0].due, fmt.Sprintf(
		"%d of %d proxies wait for a first response, %d streams open%s", waiting, len(a.proxies), open, a.metrics(-1))}}
}

func (a *streams) typesNeverAnswered() []silence {
	type group struct {
		replica int
		variant xds.Variant
		typ     xds.Type
	}
	const none = xds.OtherType // counts all proxies, or those that have no stream
	all, missing, from := map[group]int{}, map[group]int{}, map[group]event.Time{}
	var order []group
	for i := range a.proxies {
		s := &a.proxies[i]
		all[group{-1, s.variant, none}]++
		if s.replica >= 0 {
			all[group{s.replica, s.variant, none}]++
		}
		types := s.missing
		switch {
		case a.now.Sub(s.due) < firstAnswerAfter:
			continue
		case !s.open && a.waits(s):
			types = []xds.Type{none}
		}
		for _, t := range types {
			g := group{s.replica, s.variant, t}
			if missing[g]++; missing[g] == 1 {
				order, from[g] = append(order, g), s.due
			}
		}
	}
	var found []silence
	for _, g := range order {
		who := nameOfReplica(g.replica, len(a.replicas))
		of := fmt.Sprintf("%d of %d %s proxies", missing[g], all[group{g.replica, g.variant, none}], nameOfVariant(g.variant))
		if g.typ == none {
			found = append(found, silence{who, from[g], of + " wait for a first response, without a stream"})
			continue
		}
		who = fmt.Sprintf("%s (%s for %s proxies)", who, g.typ, nameOfVariant(g.variant))
		found = append(found, silence{who, from[g], fmt.Sprintf("%s was never answered for %s", g.typ, of)})
	}
	return found
}

// fellSilent names the replicas, or one variant at them, that answered nothing more
// from some time on although there were streams and mutations to answer.
func (a *streams) fellSilent() []silence {
	var found []silence
	for i := range a.replicas {
		if s, silent := a.silenceOf(i, xds.SotW, xds.Delta); silent {
			found = append(found, s)
			continue
		}
		for _, v := range []xds.Variant{xds.SotW, xds.Delta} {
			if s, silent := a.silenceOf(i, v); silent {
				s.who = fmt.Sprintf("%s (%s streams)", s.who, nameOfVariant(v))
				found = append(found, s)
			}
		}
	}
	return found
}

// silenceOf looks at the open streams of some variants at a replica.
func (a *streams) silenceOf(replica int, variants ...xds.Variant) (silence, bool) {
	var last event.Time
	open, pending := 0, a.pending
	for i := range a.proxies {
		s := &a.proxies[i]
		if s.replica == replica && s.open && slices.Contains(variants, s.variant) {
			open++
			last, pending = max(last, s.last), pending+s.pending
		}
	}
	if last == 0 || pending == 0 {
		return silence{}, false
	}
	// Each of them had as long to be answered as the silence must last.
	mutations := a.visible(last, a.now.Add(-silenceAfter))
	if mutations < silentMutations {
		return silence{}, false
	}
	return silence{nameOfReplica(replica, len(a.replicas)), last, fmt.Sprintf(
		"%d streams open, 0 responses, %d mutations%s", open, mutations, a.metrics(replica))}, true
}

// metrics says whether the metrics of a replica, or of any if it is -1, have timed out.
func (a *streams) metrics(replica int) string {
	if replica < 0 && slices.Contains(a.replicas, true) || replica >= 0 && a.replicas[replica] {
		return ", /metrics timed out"
	}
	return ""
}

func nameOfVariant(v xds.Variant) string {
	if v == xds.SotW {
		return "SotW"
	}
	return "Delta"
}

// isTimeout reports whether an attempt to connect failed because nobody answered.
func isTimeout(err error) bool {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded
}
