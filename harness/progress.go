package harness

import (
	"time"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/fakeproxy"
)

// progressSource has the stages that progress is read from, once they exist.
type progressSource struct {
	fleet     *fakeproxy.Fleet
	collector *collect.Collector
	scheduled int
}

// status says what the run is doing. It is safe for concurrent use.
func (r *run) status() Status {
	r.mu.Lock()
	s := Status{
		Phase:   r.phase,
		Detail:  r.detail,
		Elapsed: time.Since(r.phaseStart),
		Limit:   r.phaseLimit,
		Want:    r.cfg.Profile.Proxies.Count,
	}
	r.mu.Unlock()
	l := r.progress.Load()
	if l == nil {
		return s
	}
	counts := l.fleet.Counts()
	s.Connected, s.Ready, s.Refused = int(counts.Connected), int(counts.Ready), int(counts.Refused)
	p := l.collector.Progress()
	s.Responses = p.Responses
	s.Scheduled, s.Issued, s.Deliveries, s.Pending = l.scheduled, p.Issued, p.Deliveries, p.Pending
	return s
}

// startProgress calls show with the present status several times a second until
// the returned function is called. A nil show is never called.
func startProgress(show func(Status), status func() Status) (stop func()) {
	if show == nil {
		return func() {}
	}
	quit, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				show(status())
			}
		}
	}()
	return func() {
		close(quit)
		<-finished
	}
}
