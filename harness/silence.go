package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result"
)

const (
	// silenceAfter is how long a peer must not have answered to be called silent. In
	// a run that comes to its end the drain is in it.
	silenceAfter = 3 * time.Second
	// firstAnswerAfter is how long after its connection was due a proxy must not have
	// been answered at all.
	firstAnswerAfter = 5 * time.Second
	// silentMutations is how many visible mutations must have gone by without any
	// response: fewer may have been lost, by a control plane that is not silent.
	silentMutations = 3
)

// addSilences says in the result who had fallen silent by the end of the run: only of
// peers that had reason to answer.
func (r *run) addSilences(res *result.Result) {
	now := r.clock.Now()
	all := r.readStreams(res)
	r.silent(res, now, r.neverAnswered(all, now)...)
	r.silent(res, now, r.fellSilent(all, res, now)...)
	r.silent(res, now, r.silentPages(now)...)
	r.addLateSilences(res)
}

// addLateSilences adds that the API server has been silent, which it may be at the
// clean-up too, once.
func (r *run) addLateSilences(res *result.Result) {
	if !r.kube.silent(silenceAfter) || r.apiSilent {
		return
	}
	r.apiSilent = true
	since, reads, writes := r.kube.guard.silence()
	var unanswered []string
	if reads > 0 {
		unanswered = append(unanswered, fmt.Sprintf("%d reads", reads))
	}
	if writes > 0 {
		unanswered = append(unanswered, fmt.Sprintf("%d writes", writes))
	}
	r.silent(res, r.clock.Now(), silence{"API server", r.clock.At(since), strings.Join(unanswered, " and ") + " unanswered"})
}

// silence is who has not answered since a time, and what is known of it.
type silence struct {
	who    string
	from   event.Time
	detail string
}

// silent puts silences into the result, and into its warnings. Their times count from
// the start of steady load, or from now if it never began.
func (r *run) silent(res *result.Result, now event.Time, found ...silence) {
	start := event.Time(r.steadyStart.Load())
	if start == 0 {
		start = now
	}
	for _, s := range found {
		own := result.Silence{Who: s.who, From: s.from.Sub(start).Seconds(), Detail: s.detail}
		res.Silences = append(res.Silences, own)
		r.warn("%s", own)
	}
}

// stream is what has come to one proxy.
type stream struct {
	variant xds.Variant
	// replica is the number of that which the stream goes to; -1 if none ever answered
	// on it, so that it is not known.
	replica int
	open    bool
	due     event.Time // when it was to connect
	last    event.Time // when the last response came; 0 for never
	refused bool
	missing []xds.Type // that it asked for and was never answered
	pending int64      // pairs that did not arrive
}

// readStreams describes the proxies' streams at the end of a run.
func (r *run) readStreams(res *result.Result) []stream {
	all := make([]stream, len(r.roster.names))
	interval := r.cfg.Profile.Proxies.ConnectRate.Interval()
	for i := range all {
		s, a := &all[i], &r.sink.proxies[i]
		var address int
		state := r.fleet.Stream(i)
		address, s.open = state.Address, state.Connected
		s.variant, s.replica = r.roster.variants[i], -1
		s.due = r.fleetStart.Add(time.Duration(i) * interval)
		s.last, s.refused = event.Time(a.last.Load()), a.refused.Load()
		if s.open || s.last != 0 {
			s.replica = r.ownerOf(address)
		}
		for _, t := range rootsOf(r.roster.kinds[i]) {
			if !a.wasAnswered(t) {
				s.missing = append(s.missing, t)
			}
		}
		if i < len(res.ProxyRows) {
			s.pending = res.ProxyRows[i].Undelivered
		}
	}
	for _, stuck := range r.fleet.Stuck() {
		s := &all[stuck.Proxy]
		for t := range xds.Type(xds.NumTypes) {
			if t.String() == stuck.Type && !r.sink.proxies[stuck.Proxy].wasAnswered(t) && !slices.Contains(s.missing, t) {
				s.missing = append(s.missing, t)
			}
		}
	}
	return all
}

// neverAnswered names the replicas, and the types at a variant, that proxies asked for
// and were never sent.
func (r *run) neverAnswered(all []stream, now event.Time) []silence {
	if r.fleet.Counts().Responses == 0 {
		return r.nothingAnswered(all, now)
	}
	type group struct {
		replica int
		variant xds.Variant
		typ     xds.Type
	}
	asked, missing := map[group]int{}, map[group]int{}
	var order []group
	from := map[group]event.Time{}
	for i := range all {
		s := &all[i]
		asked[group{s.replica, s.variant, xds.OtherType}]++
		if s.refused || now.Sub(s.due) < firstAnswerAfter {
			continue
		}
		for _, t := range s.missing {
			g := group{s.replica, s.variant, t}
			if missing[g]++; missing[g] == 1 {
				order, from[g] = append(order, g), s.due
			}
		}
	}
	var found []silence
	for _, g := range order {
		found = append(found, silence{
			fmt.Sprintf("%s (%s for %s proxies)", r.nameOf(g.replica), g.typ, nameOfVariant(g.variant)), from[g],
			fmt.Sprintf("%s was never answered for %d of %d %s proxies", g.typ, missing[g], asked[group{g.replica, g.variant, xds.OtherType}], nameOfVariant(g.variant)),
		})
	}
	return found
}

// nothingAnswered says that no proxy has had any response, if that is long enough and
// not because of refusals.
func (r *run) nothingAnswered(all []stream, now event.Time) []silence {
	waiting := 0
	for i := range all {
		if s := &all[i]; !s.refused && now.Sub(s.due) >= firstAnswerAfter {
			waiting++
		}
	}
	if waiting == 0 {
		return nil
	}
	return []silence{{r.nameOf(-1), r.fleetStart, fmt.Sprintf("%d of %d proxies wait for a first response%s", waiting, len(all), r.pagesState(now, -1))}}
}

// fellSilent names the replicas, or variants at one, that answered nothing more from
// some time on although mutations and streams were there to answer.
func (r *run) fellSilent(all []stream, res *result.Result, now event.Time) []silence {
	var found []silence
	for i := range r.replicas {
		of := func(variants ...xds.Variant) (silence, bool) {
			return r.silenceOf(all, res, now, i, variants)
		}
		if s, silent := of(xds.SotW, xds.Delta); silent {
			found = append(found, s)
			continue
		}
		for _, v := range []xds.Variant{xds.SotW, xds.Delta} {
			if s, silent := of(v); silent {
				s.who = fmt.Sprintf("%s (%s streams)", s.who, nameOfVariant(v))
				found = append(found, s)
			}
		}
	}
	return found
}

// silenceOf looks at the streams of some variants at a replica.
func (r *run) silenceOf(all []stream, res *result.Result, now event.Time, replica int, variants []xds.Variant) (silence, bool) {
	var last event.Time
	open, pending := 0, int64(0)
	for i := range all {
		s := &all[i]
		if s.replica != replica || !s.open || !slices.Contains(variants, s.variant) {
			continue
		}
		open++
		last, pending = max(last, s.last), pending+s.pending
	}
	if p := res.Propagation; p != nil {
		pending += p.Pending // of an interrupted run, by proxy not known
	}
	// Each of them had as long to be answered as the silence must last.
	mutations := r.churn.visibleBetween(last, now.Add(-silenceAfter))
	if open == 0 || pending == 0 || mutations < silentMutations {
		return silence{}, false
	}
	return silence{r.nameOf(replica), last, fmt.Sprintf("%d streams open, 0 responses, %d mutations%s", open, mutations, r.pagesState(now, replica))}, true
}

// silentPages names the pages that do not answer.
func (r *run) silentPages(now event.Time) []silence {
	var found []silence
	for i, p := range r.replicas {
		for _, x := range []struct {
			name string
			*page
		}{{"/metrics", &p.metrics}, {"/debug/syncz", &p.syncz}, {"/debug/pprof", &p.pprof}} {
			if since, silent := x.silentSince(now); silent {
				found = append(found, silence{x.name + " of " + r.nameOf(i), since, "timed out"})
			}
		}
	}
	return found
}

// pagesState says whether the metrics of a replica, or of any if it is -1, have
// timed out.
func (r *run) pagesState(now event.Time, replica int) string {
	for i, p := range r.replicas {
		if _, silent := p.metrics.silentSince(now); silent && (replica < 0 || i == replica) {
			return ", /metrics timed out"
		}
	}
	return ""
}

// nameOf names a replica if there are several.
func (r *run) nameOf(replica int) string {
	if replica < 0 || !r.several() {
		return "control plane"
	}
	return strings.TrimSpace(r.replicaNames([]int{replica}))
}

func nameOfVariant(v xds.Variant) string {
	if v == xds.SotW {
		return "SotW"
	}
	return "Delta"
}

// isTimeout reports whether an attempt to connect failed because nobody answered.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded ||
		errors.As(err, &timeout) && timeout.Timeout()
}
