package faults

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// Injector decides what goes wrong and keeps the record of it. With a nil
// Injector nothing goes wrong. Its predicates have no side effects; the caller
// reports what it has done to the methods that begin with Record.
type Injector struct {
	want  settings
	timer *preciseTimer

	silent atomic.Bool

	mu      sync.Mutex
	rng     *rand.Rand
	record  Record                  // except for Stale
	stale   map[StaleCluster]string // version sent last
	updates map[LostUpdate]int      // with Update 0
	total   int                     // of updates, for the choice of lost ones
}

// New reads the fault variables of environ. It returns nil if there is none.
func New(environ map[string]string) (*Injector, error) {
	s, err := parse(environ)
	if err != nil || len(s.values) == 0 {
		return nil, err
	}
	return &Injector{
		want:  s,
		timer: &preciseTimer{},
		rng:   rand.New(rand.NewPCG(s.seed, 0)),
		// Lists are empty in JSON, not null.
		record: Record{
			Settings: s.values, Delays: []time.Duration{}, Unserved: []string{}, Lost: []LostUpdate{},
			Early: []string{}, Late: []string{}, Unanswered: make(map[string]int),
		},
		stale:   make(map[StaleCluster]string),
		updates: make(map[LostUpdate]int),
	}, nil
}

// update changes the record.
func (f *Injector) update(change func(r *Record)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.record)
}

// insert adds a name to a sorted list, unless it is there.
func insert(list *[]string, name string) {
	if i, found := slices.BinarySearch(*list, name); !found {
		*list = slices.Insert(*list, i, name)
	}
}

// Run makes the calls scheduled by At until ctx is done. It must begin when
// serving does.
func (f *Injector) Run(ctx context.Context) error {
	if f == nil {
		return nil
	}
	if f.want.silentAfter >= 0 {
		f.At(time.Now().Add(f.want.silentAfter), f.fallSilent)
	}
	return f.timer.run(ctx)
}

// At schedules call for due, on the goroutine of Run. After the end of Run it
// does nothing.
func (f *Injector) At(due time.Time, call func()) { f.timer.at(due, call) }

// Delays tells whether pushes are held back.
func (f *Injector) Delays() bool { return f != nil && len(f.want.delay.terms) > 0 }

// DrawDelay returns how long to hold back the next push to a proxy.
func (f *Injector) DrawDelay(proxy string) time.Duration {
	place := f.want.place(EnvDelay, proxy)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.want.delay.draw(f.rng, place)
}

// RecordDelay records how long a push was actually held back.
func (f *Injector) RecordDelay(d time.Duration) {
	f.update(func(r *Record) {
		if len(r.Delays) < maxRecordedDelays {
			r.Delays = append(r.Delays, d)
		} else {
			r.DelaysOmitted++
		}
	})
}

// Unserved tells whether a proxy gets no pushes of a type.
func (f *Injector) Unserved(proxy string, t xds.Type) bool {
	return f != nil && f.want.affects(t, true) && f.want.chosen(f.want.unserved, EnvUnserved, proxy)
}

// RecordUnserved records an unserved proxy and the number of pushes that it did
// not get.
func (f *Injector) RecordUnserved(proxy string, pushes int) {
	f.update(func(r *Record) { insert(&r.Unserved, proxy); r.UnservedPushes += pushes })
}

// Stale tells whether a proxy always gets the content of a resource that it got
// first.
func (f *Injector) Stale(proxy string, t xds.Type, resource string) bool {
	return f.CanBeStale(t) && f.want.chosen(f.want.stale, EnvStale, proxy, resource)
}

// CanBeStale tells whether resources of a type may be stale at some proxy.
func (f *Injector) CanBeStale(t xds.Type) bool {
	return f != nil && f.want.stale > 0 && f.want.affects(t, t == xds.EDS)
}

// RecordStale records the version of a stale resource that was sent; empty for one
// that was left out.
func (f *Injector) RecordStale(proxy string, t xds.Type, resource, version string) {
	f.update(func(r *Record) {
		r.StaleResources++
		f.stale[StaleCluster{Proxy: proxy, Cluster: resource, Type: typeName(t)}] = version
	})
}

// Disordered tells whether a proxy gets endpoints before clusters.
func (f *Injector) Disordered(proxy string) bool {
	return f != nil && f.want.chosen(f.want.order, EnvOrder, proxy)
}

// RecordEarly records resources that were sent before what names them.
func (f *Injector) RecordEarly(proxy string, resources int) {
	f.update(func(r *Record) { insert(&r.Early, proxy); r.EarlyResources += resources })
}

// LateClusters is how much later proxies get the second half of their clusters; 0
// for no fault.
func (f *Injector) LateClusters() time.Duration {
	if f == nil {
		return 0
	}
	return f.want.lateClusters
}

// RecordLate records clusters that a proxy gets late.
func (f *Injector) RecordLate(proxy string, clusters int) {
	f.update(func(r *Record) { insert(&r.Late, proxy); r.LateClusters += clusters })
}

// Unanswered tells whether a type is never sent on streams of a variant.
func (f *Injector) Unanswered(delta bool, t xds.Type) bool {
	return f != nil && f.want.unanswered[streamType(delta, t)]
}

// RecordUnanswered records a request that gets no answer.
func (f *Injector) RecordUnanswered(delta bool, t xds.Type) {
	f.update(func(r *Record) { r.Unanswered[streamType(delta, t)]++ })
}

func (f *Injector) fallSilent() {
	f.silent.Store(true)
	f.update(func(r *Record) { r.SilentFrom = time.Now() })
}

// Silent tells whether the control plane no longer sends anything.
func (f *Injector) Silent() bool { return f != nil && f.silent.Load() }

// SilentHTTP tells whether its pages no longer answer.
func (f *Injector) SilentHTTP() bool { return f.Silent() && f.want.silentHTTP }

// RecordSilenced records responses that are not sent because of silence.
func (f *Injector) RecordSilenced(responses int) {
	f.update(func(r *Record) { r.SilencedResponses += responses })
}

// Duplicate draws some of the responses, inserts a copy after each and records
// that. about returns the type and the number of resources of a response.
func Duplicate[R any](f *Injector, responses []*R, about func(*R) (xds.Type, int)) []*R {
	if f == nil || f.want.duplicate == 0 {
		return responses
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []*R
	for _, r := range responses {
		out = append(out, r)
		t, resources := about(r)
		if f.want.affects(t, true) && f.rng.Float64() < f.want.duplicate {
			again := *r
			out = append(out, &again)
			f.record.DuplicateResponses++
			f.record.DuplicateResources += resources
			f.countDuplicateLocked(t)
		}
	}
	return out
}

func (f *Injector) countDuplicateLocked(t xds.Type) {
	if f.record.Duplicates == nil {
		f.record.Duplicates = make(map[string]int)
	}
	f.record.Duplicates[t.String()]++
}

// LoseUpdate counts one update of some resources of a type that change together,
// and tells whether it must be lost, which it records.
func (f *Injector) LoseUpdate(t xds.Type, resources ...string) bool {
	if f == nil || f.want.lost == 0 || !f.want.affects(t, t == xds.EDS) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total++
	lost := f.total%f.want.lost == 0
	for _, name := range resources {
		update := LostUpdate{Cluster: name, Type: typeName(t)}
		f.updates[update]++
		if lost {
			update.Update = f.updates[update]
			f.record.Lost = append(f.record.Lost, update)
		}
	}
	return lost
}

// Burn spends the CPU time that is added to a push, by this thread's own CPU
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
	f.update(func(r *Record) { r.BurnedPushes++; r.BurnedSeconds += spent.Seconds() })
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
