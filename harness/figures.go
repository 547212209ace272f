package harness

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/effect"
	"github.com/xdsbench/xdsbench/result/observed"
	"github.com/xdsbench/xdsbench/target"
)

// windowLead is how long before the first mutation of a kind its window begins.
const windowLead = 100 * time.Millisecond

// figures are what the target had used and done at an instant.
type figures struct {
	at    time.Time
	usage target.Usage
	observe.Figures
}

// readFigures reads them of all replicas together; false if one does not answer.
func (r *run) readFigures(ctx context.Context) (figures, bool) {
	ctx, cancel := context.WithTimeout(ctx, scrapeLimit)
	defer cancel()
	f := figures{}
	scrapes, errs := make([]observe.Scrape, len(r.replicas)), make([]error, len(r.replicas))
	r.eachReplica(func(i int, p *replica) {
		text, err := p.Scrape(ctx)
		if err == nil {
			scrapes[i], err = observe.Parse(text)
		}
		if !errors.Is(err, target.ErrNoMetrics) {
			errs[i] = err
		}
	})
	for _, s := range scrapes {
		f.Figures = f.Plus(s.Figures())
	}
	var err error
	f.usage, err = r.usage(ctx)
	f.at = time.Now()
	return f, errors.Join(append(errs, err)...) == nil
}

// idle takes what the control plane uses while nothing changes.
func (r *run) idle(ctx context.Context) error {
	limit := r.cfg.Profile.Phases.Idle.Duration
	if limit == 0 {
		return nil
	}
	r.enter(PhaseIdle, limit, "")
	before, ok := r.readFigures(ctx)
	if err := poll(ctx, limit, func() bool { return false }); err != nil && !errors.Is(err, errLimit) {
		return err
	}
	after, known := r.readFigures(ctx)
	if !ok || !known {
		return ctx.Err() // whoever does not tell what it uses is warned of at the end
	}
	gained := after.Minus(before.Figures)
	r.observed.idle = observed.NewIdle(after.at.Sub(before.at).Seconds(), after.usage.CPUSeconds-before.usage.CPUSeconds, gained.Allocated, gained.Pushes)
	return ctx.Err()
}

// window is the time in which the mutations of one kind are issued, and no others.
type window struct {
	kind        string
	first, last time.Duration // from the start of steady load
	own         bool          // no other kind's mutations are issued in it
}

// windowsOf lists the windows of a schedule of several kinds, in order; nil if none has
// a window of its own, for only of those it can be told what each one cost.
func windowsOf(s *churn.Schedule) []window {
	var all []window
	at := make(map[string]int)
	for i := range s.Steps {
		step := &s.Steps[i]
		n, ok := at[step.Kind]
		if !ok {
			n = len(all)
			at[step.Kind], all = n, append(all, window{kind: step.Kind, first: step.Offset, last: step.Offset})
		}
		all[n].first, all[n].last = min(all[n].first, step.Offset), max(all[n].last, step.Offset)
	}
	slices.SortFunc(all, func(a, b window) int { return cmp.Compare(a.first, b.first) })
	before, found := time.Duration(-1), false
	for i := range all {
		all[i].own = all[i].first > before && (i+1 == len(all) || all[i].last < all[i+1].first)
		before, found = max(before, all[i].last), found || all[i].own
	}
	if len(all) < 2 || !found {
		return nil
	}
	return all
}

// costs are the target's figures at the beginning of each window, and at the end of
// all. One that could not be read is nil.
type costs struct {
	windows []window
	at      []*figures
}

// watchCosts reads the figures at each window's beginning until the returned function
// is called, which waits for it.
func (r *run) watchCosts(ctx context.Context, start event.Time) (end func()) {
	c := &r.observed.kindCosts
	c.windows = windowsOf(r.schedule)
	if c.windows == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() {
		for _, w := range c.windows {
			if !sleep(ctx, time.Until(r.clock.Wall(start.Add(w.first-windowLead)))) {
				return
			}
			c.add(r.readFigures(ctx))
		}
	})
	return func() {
		cancel()
		wait.Wait()
	}
}

func (c *costs) add(f figures, ok bool) {
	if !ok {
		c.at = append(c.at, nil)
		return
	}
	c.at = append(c.at, &f)
}

// endCosts reads the figures once more, at the end of the last window.
func (r *run) endCosts(ctx context.Context) {
	if c := &r.observed.kindCosts; len(c.windows) > 0 {
		c.add(r.readFigures(ctx))
	}
}

// addKindCosts adds to a result what each kind with a window of its own has cost.
func (r *run) addKindCosts(res *result.Result) {
	c := &r.observed.kindCosts
	if res.Mutations == nil {
		return
	}
	for i, w := range c.windows {
		k := res.Mutations.Effects[w.kind]
		if k == nil || !w.own || i+1 >= len(c.at) || c.at[i] == nil || c.at[i+1] == nil {
			continue
		}
		from, to := c.at[i], c.at[i+1]
		gained := to.Minus(from.Figures)
		k.Cost = &effect.Cost{
			WallSeconds: to.at.Sub(from.at).Seconds(), CPUSeconds: to.usage.CPUSeconds - from.usage.CPUSeconds,
			AllocatedBytes: gained.Allocated, Pushes: gained.Pushes, CacheHits: gained.CacheHits, CacheMisses: gained.CacheMisses,
		}
		k.Cost.NetCPUSeconds, k.Cost.NetAllocatedBytes = r.observed.idle.Net(k.Cost.WallSeconds, k.Cost.CPUSeconds, gained.Allocated)
	}
}
