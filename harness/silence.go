package harness

import (
	"fmt"
	"strings"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/result"
)

// silenceAfter is how long a peer must not have answered, with reason to, to be called
// silent. In a run that comes to its end the drain is in it.
const silenceAfter = 3 * time.Second

// silence is who has not answered since a time, and what is known of it.
type silence struct {
	who    string
	from   event.Time
	detail string
}

// addSilences says in the result who had fallen silent by the end of the run: only
// peers that had reason to answer.
func (r *run) addSilences(res *result.Result) {
	now := r.clock.Now()
	s := r.readStreams(res, now)
	r.silent(res, now, s.neverAnswered()...)
	r.silent(res, now, s.fellSilent()...)
	r.silent(res, now, r.silentPages(now)...)
	r.addSilentAPI(res)
}

// addSilentAPI adds that the API server is silent, unless the result says so already: it
// may fall silent at the clean-up, too.
func (r *run) addSilentAPI(res *result.Result) {
	if r.apiSilent || r.kube == nil || !r.kube.silent(silenceAfter) {
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

// silentPages names the pages of the control plane that do not answer.
func (r *run) silentPages(now event.Time) []silence {
	var found []silence
	for i, p := range r.replicas {
		for _, x := range []struct {
			name string
			page *page
		}{{"/metrics", &p.metrics}, {"/debug/syncz", &p.syncz}, {"/debug/pprof", &p.pprof}} {
			if since, silent := x.page.silentSince(now); silent {
				found = append(found, silence{x.name + " of " + nameOfReplica(i, len(r.replicas)), since, "timed out"})
			}
		}
	}
	return found
}

// nameOfReplica names one of so many replicas; -1 stands for one that is not known.
func nameOfReplica(replica, of int) string {
	if replica < 0 || of == 1 {
		return "control plane"
	}
	return fmt.Sprintf("replica %d", replica)
}
