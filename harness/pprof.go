package harness

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/xdsbench/xdsbench/hotspot"
	"github.com/xdsbench/xdsbench/internal/file"
	"github.com/xdsbench/xdsbench/profiles"
	"github.com/xdsbench/xdsbench/result/observed"
)

// profilesDir is the folder of the control plane's profiles within the results.
const profilesDir = "pprof"

// checkProfiling says what is wrong with the profile's section "pprof" in view
// of the others.
func checkProfiling(p *profiles.Profile) error {
	if w := p.Pprof.Window(); w > p.Phases.Steady.Duration {
		return fmt.Errorf("pprof.cpu and pprof.trace: %s together: must fit into phases.steady (%s): shorten them, or lengthen the phase", w, p.Phases.Steady.Duration)
	}
	return nil
}

// profiler takes the profiles of the control plane, or of its first replica. What
// fails is a warning: a run without profiles is still a run.
type profiler struct {
	r    *run
	spec hotspot.Spec
	// heap is the heap profile before steady load.
	heap []byte

	mu    sync.Mutex
	taken []observed.ProfileSummary // guarded by mu
}

// startProfiling takes the heap, and begins to take the profiles of steady load,
// in its middle. The returned function waits for these, and then takes those of
// the end of steady load.
func (r *run) startProfiling(ctx context.Context) (finish func()) {
	p := &profiler{r: r, spec: r.cfg.Profile.Pprof}
	if !p.spec.Any() {
		return func() {}
	}
	if err := p.prepare(ctx); err != nil {
		r.warn("profiles: %v", err)
		return func() {}
	}
	started := time.Now()
	var window sync.WaitGroup
	window.Go(func() { p.window(ctx) })
	return func() {
		window.Wait()
		p.snapshots(ctx, time.Since(started))
		r.observed.profiles = p.taken
	}
}

// prepare makes sure that the profiles are the control plane's, makes their
// folder, and takes the heap.
func (p *profiler) prepare(ctx context.Context) error {
	if err := p.r.replicas[0].CheckPprof(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(p.r.cfg.Dir, profilesDir), 0o755); err != nil || !p.spec.Heap {
		return err
	}
	var err error
	p.heap, err = p.fetch(ctx, "heap", 0, "heap-before.pb.gz")
	return err
}

// window takes what needs a span of time: the processor profile, then the trace.
func (p *profiler) window(ctx context.Context) {
	rest := p.r.cfg.Profile.Phases.Steady.Duration - p.spec.Window()
	if !sleep(ctx, rest/2) {
		return
	}
	if cpu := int(p.spec.CPU.Duration / time.Second); cpu > 0 {
		p.take(ctx, "cpu", cpu)
	}
	trace := int(p.spec.Trace.Duration / time.Second)
	if trace == 0 {
		return
	}
	const file = "trace.out"
	if _, err := p.fetch(ctx, "trace", trace, file); err != nil {
		p.warn(ctx, err)
		return
	}
	p.keep(observed.ProfileSummary{Kind: "trace", File: filepath.Join(profilesDir, file), Seconds: float64(trace)})
}

// snapshots takes what needs no time, and what was allocated during steady load.
func (p *profiler) snapshots(ctx context.Context, steady time.Duration) {
	for _, s := range []struct {
		wanted bool
		kind   string
	}{
		{p.spec.Heap, "heap"},
		{p.spec.Mutex, "mutex"},
		{p.spec.Block, "block"},
		{p.spec.Goroutine, "goroutine"},
	} {
		if !s.wanted {
			continue
		}
		after := p.take(ctx, s.kind, 0)
		if s.kind != "heap" || after == nil {
			continue
		}
		// The profile of a heap counts all allocations since the start too.
		sum, err := hotspot.SummariseGrowth(p.heap, after, "allocs")
		if err != nil {
			p.warn(ctx, err)
			continue
		}
		p.keep(summary("allocs", "heap.pb.gz", steady.Seconds(), sum))
	}
}

// take fetches one profile, keeps it as it is, and sums it up. It returns nil
// if it cannot be had.
func (p *profiler) take(ctx context.Context, kind string, seconds int) []byte {
	name := kind + ".pb.gz"
	data, err := p.fetch(ctx, kind, seconds, name)
	if err != nil {
		p.warn(ctx, err)
		return nil
	}
	sum, err := hotspot.Summarise(data, kind)
	if err != nil {
		p.warn(ctx, err)
		return nil
	}
	if sum.Total == 0 && (kind == "mutex" || kind == "block") {
		p.r.warn("profiles: %s: empty: a Go program has this profile only if it switches it on (runtime.SetMutexProfileFraction, SetBlockProfileRate)", name)
	}
	p.keep(summary(kind, name, float64(seconds), sum))
	return data
}

// fetch reads a profile and writes it to a file in the profiles' folder.
func (p *profiler) fetch(ctx context.Context, kind string, seconds int, name string) ([]byte, error) {
	data, err := p.r.replicas[0].FetchProfile(ctx, kind, seconds)
	if err != nil {
		return nil, err
	}
	return data, file.Write(filepath.Join(p.r.cfg.Dir, profilesDir, name), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func (p *profiler) keep(s observed.ProfileSummary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = append(p.taken, s)
}

func (p *profiler) warn(ctx context.Context, err error) {
	if ctx.Err() == nil {
		p.r.warn("profiles: %v", err)
	}
}

func summary(kind, name string, seconds float64, sum *hotspot.Summary) observed.ProfileSummary {
	s := observed.ProfileSummary{
		Kind: kind, File: filepath.Join(profilesDir, name), Seconds: seconds,
		Sample: sum.Sample, Unit: sum.Unit, Total: sum.Total, Parts: sum.Parts,
	}
	for _, f := range sum.Top {
		s.Top = append(s.Top, observed.FunctionShare{Function: f.Name, Part: f.Part, Share: f.Share})
	}
	return s
}
