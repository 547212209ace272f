package faults

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// Injector decides what goes wrong and keeps the record of it. On a nil
// Injector nothing goes wrong. Its predicates only tell what is wanted; what
// has been done about it, the methods that begin with Record are told.
type Injector struct {
	want  settings
	timer *preciseTimer

	silent atomic.Bool

	mu       sync.Mutex
	rng      *rand.Rand
	record   Record                  // but for what the other fields hold
	unserved map[string]struct{}     // proxies
	early    map[string]struct{}     // proxies
	late     map[string]struct{}     // proxies
	stale    map[StaleCluster]string // version sent last
	updates  map[string]int          // changes per cluster
	changes  int                     // changes in all, for the choice of lost ones
}

// New reads the fault variables of environ. It returns nil if there is none.
func New(environ map[string]string) (*Injector, error) {
	s, err := parse(environ)
	if err != nil || len(s.values) == 0 {
		return nil, err
	}
	return &Injector{
		want:     s,
		timer:    &preciseTimer{},
		rng:      rand.New(rand.NewPCG(s.seed, 0)),
		record:   Record{Delays: []time.Duration{}, Unanswered: make(map[string]int)},
		unserved: make(map[string]struct{}),
		early:    make(map[string]struct{}),
		late:     make(map[string]struct{}),
		stale:    make(map[StaleCluster]string),
		updates:  make(map[string]int),
	}, nil
}

// Run makes the calls that At arranges, until ctx is done. Serving begins with
// it.
func (f *Injector) Run(ctx context.Context) error {
	if f == nil {
		return nil
	}
	if f.want.silentAfter >= 0 {
		f.At(time.Now().Add(f.want.silentAfter), f.fallSilent)
	}
	return f.timer.run(ctx)
}

// At arranges for call at due, from the goroutine of Run. After the end of Run
// it does nothing.
func (f *Injector) At(due time.Time, call func()) { f.timer.at(due, call) }

// Delays tells whether pushes are held back.
func (f *Injector) Delays() bool { return f != nil && len(f.want.delay.terms) > 0 }

// DrawDelay returns for how long to hold back the next push to a proxy.
func (f *Injector) DrawDelay(proxy string) time.Duration {
	place := f.want.place(EnvDelay, proxy)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.want.delay.draw(f.rng, place)
}

// RecordDelay records for how long a push was held back in fact.
func (f *Injector) RecordDelay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.record.Delays) >= maxRecordedDelays {
		f.record.DelaysOmitted++
		return
	}
	f.record.Delays = append(f.record.Delays, d)
}

// Unserved tells whether a proxy gets no pushes.
func (f *Injector) Unserved(proxy string) bool {
	return f != nil && f.want.chosen(f.want.unserved, EnvUnserved, proxy)
}

// RecordUnserved records an unserved proxy, and how many pushes it did not get.
func (f *Injector) RecordUnserved(proxy string, pushes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unserved[proxy] = struct{}{}
	f.record.UnservedPushes += pushes
}

// Stale tells whether a proxy keeps the first endpoints of a cluster for ever.
func (f *Injector) Stale(proxy, cluster string) bool {
	return f != nil && f.want.chosen(f.want.stale, EnvStale, proxy, cluster)
}

// RecordStale records the version of a stale load assignment that was sent.
func (f *Injector) RecordStale(proxy, cluster, version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record.StaleResources++
	f.stale[StaleCluster{Proxy: proxy, Cluster: cluster}] = version
}

// Disordered tells whether a proxy gets endpoints before clusters.
func (f *Injector) Disordered(proxy string) bool {
	return f != nil && f.want.chosen(f.want.order, EnvOrder, proxy)
}

// RecordEarly records resources that were sent before what names them.
func (f *Injector) RecordEarly(proxy string, resources int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.early[proxy] = struct{}{}
	f.record.EarlyResources += resources
}

// LateClusters is after which time proxies get the second half of their
// clusters; 0 is at once.
func (f *Injector) LateClusters() time.Duration {
	if f == nil {
		return 0
	}
	return f.want.lateClusters
}

// RecordLate records clusters that a proxy gets late.
func (f *Injector) RecordLate(proxy string, clusters int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late[proxy] = struct{}{}
	f.record.LateClusters += clusters
}

// Unanswered tells whether a type is never sent on streams of a variant.
func (f *Injector) Unanswered(delta bool, t xds.Type) bool {
	return f != nil && f.want.unanswered[streamType(delta, t)]
}

// RecordUnanswered records a request that gets no answer.
func (f *Injector) RecordUnanswered(delta bool, t xds.Type) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record.Unanswered[streamType(delta, t)]++
}

func (f *Injector) fallSilent() {
	f.silent.Store(true)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record.SilentFrom = time.Now()
}

// Silent tells whether nothing is sent any more.
func (f *Injector) Silent() bool { return f != nil && f.silent.Load() }

// SilentHTTP tells whether pages do not answer any more.
func (f *Injector) SilentHTTP() bool { return f.Silent() && f.want.silentHTTP }

// RecordSilenced records responses that are not sent for silence.
func (f *Injector) RecordSilenced(responses int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record.SilencedResponses += responses
}

// Duplicate inserts copies of some responses after them, drawn by chance, and
// records that. resources counts those of a response.
func Duplicate[R any](f *Injector, responses []*R, resources func(*R) int) []*R {
	if f == nil || f.want.duplicate == 0 {
		return responses
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []*R
	for _, r := range responses {
		out = append(out, r)
		if f.rng.Float64() < f.want.duplicate {
			again := *r
			out = append(out, &again)
			f.record.DuplicateResponses++
			f.record.DuplicateResources += resources(r)
		}
	}
	return out
}

// LoseUpdates counts updates of clusters that have been sent before, in order,
// and returns and records those that are to be lost.
func (f *Injector) LoseUpdates(clusters []string) []string {
	if f == nil || f.want.lost == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var lost []string
	for _, name := range clusters {
		f.updates[name]++
		f.changes++
		if f.changes%f.want.lost == 0 {
			lost = append(lost, name)
			f.record.Lost = append(f.record.Lost, LostUpdate{Cluster: name, Update: f.updates[name]})
		}
	}
	return lost
}

// Burn spends the CPU time that a push costs more, by this thread's own CPU
// clock, so that preemption does not count. It returns and records what was
// spent.
func (f *Injector) Burn() time.Duration {
	if f == nil || f.want.cpu == 0 {
		return 0
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadCPU()
	for threadCPU()-began < f.want.cpu {
		spin()
	}
	spent := threadCPU() - began
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record.BurnedPushes++
	f.record.BurnedSeconds += spent.Seconds()
	return spent
}

// spin takes about a microsecond.
//
//go:noinline
func spin() {
	for i := range 2000 {
		_ = i
	}
}

func threadCPU() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now) // cannot fail with these arguments
	return time.Duration(now.Nano())
}
