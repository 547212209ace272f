package controlplane

import (
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// faults injects what was asked for and keeps the record. Methods on a nil
// *faults inject nothing.
type faults struct {
	spec  *faultSpec
	timer *preciseTimer // nil without delays

	mu       sync.Mutex
	rng      *rand.Rand
	record   FaultRecord // but for what the maps hold
	unserved map[string]struct{}
	early    map[string]struct{}
	stale    map[StaleCluster]string // version sent last
	updates  map[string]int          // changes per cluster
	changes  int                     // changes in all, for the choice of lost ones
}

// newFaults returns nil for a nil spec.
func newFaults(spec *faultSpec) (*faults, error) {
	if spec == nil {
		return nil, nil //nolint:nilnil // no faults is no error.
	}
	f := &faults{
		spec:     spec,
		rng:      rand.New(rand.NewPCG(spec.seed, 0)),
		unserved: make(map[string]struct{}),
		early:    make(map[string]struct{}),
		stale:    make(map[StaleCluster]string),
		updates:  make(map[string]int),
	}
	f.record.Delays = []time.Duration{}
	if len(spec.delay.terms) == 0 {
		return f, nil
	}
	var err error
	f.timer, err = newPreciseTimer()
	return f, err
}

// delays returns the timer of the delays; nil if there are none.
func (f *faults) delays() *preciseTimer {
	if f == nil {
		return nil
	}
	return f.timer
}

// denies tells whether a push to this proxy is left out. A proxy that is never
// served is known as such as soon as it connects.
func (f *faults) denies(proxy string, push bool) bool {
	if f == nil || !f.spec.chosen(f.spec.unserved, FaultUnserved, proxy) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unserved[proxy] = struct{}{}
	if push {
		f.record.UnservedPushes++
	}
	return true
}

// disorders tells whether this proxy gets endpoints before clusters.
func (f *faults) disorders(proxy string) bool {
	return f != nil && f.spec.chosen(f.spec.order, FaultOrder, proxy)
}

// noteEarly records resources that were sent before what names them.
func (f *faults) noteEarly(proxy string, resources int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.early[proxy] = struct{}{}
	f.record.EarlyResources += resources
}

// outdate returns content with the state that the proxy was synced with, for
// the clusters whose updates it never gets right.
func (f *faults) outdate(proxy string, content *bundle, synced *snapshot) *bundle {
	if f == nil || f.spec.stale == 0 || synced == nil {
		return content
	}
	var out *bundle
	for i, r := range content.resources {
		old, known := synced.endpoints[r.GetName()]
		if !known || !f.spec.chosen(f.spec.stale, FaultStale, proxy, r.GetName()) {
			continue
		}
		if out == nil {
			out = &bundle{resources: slices.Clone(content.resources)}
		}
		out.resources[i] = old.wrapped
		f.mu.Lock()
		f.record.StaleResources++
		f.stale[StaleCluster{Proxy: proxy, Cluster: r.GetName()}] = old.version
		f.mu.Unlock()
	}
	if out == nil {
		return content
	}
	for _, r := range out.resources {
		out.bytes += len(r.GetResource().GetValue())
	}
	return out
}

// repeat returns the responses of a push with some of them twice.
func (f *faults) repeat(responses []*response) []*response {
	if f == nil || f.spec.duplicate == 0 {
		return responses
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []*response
	for _, r := range responses {
		out = append(out, r)
		if f.rng.Float64() < f.spec.duplicate {
			again := *r
			out = append(out, &again)
			f.record.DuplicateResponses++
			f.record.DuplicateResources += len(r.content.resources)
		}
	}
	return out
}

// lose takes updates of clusters out of a push, which then keep their previous
// state. It reports whether anything is left to push.
func (f *faults) lose(previous, next *snapshot, request *pushRequest) bool {
	if f == nil || f.spec.lost == 0 || request.full {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(request.endpoints)) {
		f.updates[name]++
		f.changes++
		before, known := previous.endpoints[name]
		if f.changes%f.spec.lost != 0 || !known {
			continue
		}
		next.endpoints[name] = before
		delete(request.endpoints, name)
		f.record.Lost = append(f.record.Lost, LostUpdate{Cluster: name, Update: f.updates[name]})
	}
	return len(request.endpoints) > 0
}

// hold returns how long a push to this proxy is held back.
func (f *faults) hold(proxy string) (time.Duration, bool) {
	if f == nil || f.timer == nil {
		return 0, false
	}
	place := f.spec.draw(FaultDelay, proxy)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spec.delay.draw(f.rng, place), true
}

// held records how long a push was held back in fact.
func (f *faults) held(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.record.Delays) >= maxRecordedDelays {
		f.record.DelaysOmitted++
		return
	}
	f.record.Delays = append(f.record.Delays, d)
}

// burn spends the CPU time that a push is to cost more, by this thread's own
// CPU clock, so that preemption does not count. It returns what was spent.
func (f *faults) burn() time.Duration {
	if f == nil || f.spec.cpu == 0 {
		return 0
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadCPU()
	for threadCPU()-began < f.spec.cpu {
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
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now) // no argument of it can be wrong
	return time.Duration(now.Nano())
}
