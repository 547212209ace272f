package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/internal/self"
	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result/rows"
	"github.com/xdsbench/xdsbench/target"
)

// timelineEvery is the length of a line of the timeline.
const timelineEvery = time.Second

// scrapeLimit bounds the scrape for a line, so that a control plane that
// answers late costs the line a figure and not the timeline a line.
const scrapeLimit = 900 * time.Millisecond

// timeline takes a line a second until it is ended. Only its goroutine touches
// the fields, until that has ended.
type timeline struct {
	r      *run
	cancel context.CancelFunc
	done   chan struct{}

	rows      []rows.Timeline
	intervals *collect.Intervals
	last      reading
	phase     Phase
}

// reading is what lines are differences of.
type reading struct {
	at                  time.Time
	issued              int
	disconnected        int64
	wireIn              int64
	harnessCPU          float64
	hasHarness, hasCost bool
	cpu                 float64
	pids                []int           // by replica; 0 of one that is not ours
	pushes              map[int]float64 // by replica, as far as they were ever to be had
}

// startTimeline begins to take lines; end stops it.
func (r *run) startTimeline(ctx context.Context) *timeline {
	t := &timeline{r: r, done: make(chan struct{}), intervals: r.collector.Intervals(), last: reading{pushes: map[int]float64{}}}
	ctx, t.cancel = context.WithCancel(ctx)
	t.line(ctx) // the readings that the first line starts from
	t.rows = nil
	r.wait.Go(func() {
		defer close(t.done)
		tick := time.NewTicker(timelineEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				t.line(ctx)
			}
		}
	})
	return t
}

// end stops the timeline and returns its lines, with times that count from the
// start of the steady phase if there was one. The last line is of what had begun
// of a second.
func (t *timeline) end(ctx context.Context) []rows.Timeline {
	t.cancel()
	<-t.done
	t.line(ctx)
	start := time.Duration(t.r.steadyStart.Load()).Seconds()
	for i := range t.rows {
		t.rows[i].T -= start
	}
	return t.rows
}

// line appends what has happened since the line before.
func (t *timeline) line(ctx context.Context) {
	r := t.r
	now := reading{at: time.Now(), pushes: maps.Clone(t.last.pushes)}
	for _, p := range r.replicas {
		now.pids = append(now.pids, p.Info().PID)
	}
	row := rows.Timeline{T: r.clock.At(now.at).Duration().Seconds()}
	progress, interval := r.collector.Progress(), t.intervals.Cut()
	if interval.Deliveries > 0 {
		r.lastSecond.Store(&interval)
	}
	row.Deliveries, row.P50, row.P99 = int(interval.Deliveries), interval.P50, interval.P99
	row.Pending, row.Connected, row.Ready = progress.Pending, progress.Connected, progress.Ready
	row.Connections = r.connections()
	now.issued = progress.Issued
	row.Mutations = now.issued - t.last.issued
	now.wireIn, _ = r.fleet.WireBytes()
	row.BytesIn = now.wireIn - t.last.wireIn
	now.disconnected = r.fleet.Counts().Disconnected
	t.cost(ctx, &row, &now)
	row.Phase, row.Event = t.events(&now)
	t.rows = append(t.rows, row)
	t.last = now
}

// cost adds CPU, memory and pushes, as far as they are to be had.
func (t *timeline) cost(ctx context.Context, row *rows.Timeline, now *reading) {
	seconds := now.at.Sub(t.last.at).Seconds()
	if cpu, err := self.CPUSeconds(); err == nil {
		now.harnessCPU, now.hasHarness = cpu, true
		if t.last.hasHarness {
			row.HarnessCores = ratio(cpu-t.last.harnessCPU, seconds)
		}
	}
	external := now.pids[0] == 0
	if !external {
		if u, err := t.r.usage(ctx); err == nil {
			t.target(row, now, u.CPUSeconds, float64(u.RSSBytes))
		}
	}
	sums, whole := t.scrape(ctx, row, now)
	if external && whole && sums.hasCost {
		t.target(row, now, sums.cpu, sums.rss)
	}
}

// scraped is what replicas say that they have used, in seconds and bytes.
type scraped struct {
	cpu, rss float64
	hasCost  bool
}

// scrape adds the pushes of all replicas that answer, and returns what these have
// used, and whether all answered that have metrics.
func (t *timeline) scrape(ctx context.Context, row *rows.Timeline, now *reading) (sums scraped, whole bool) {
	ctx, cancel := context.WithTimeout(ctx, scrapeLimit)
	defer cancel()
	scrapes, errs := make([]observe.Scrape, len(t.r.replicas)), make([]error, len(t.r.replicas))
	t.r.eachReplica(func(i int, p *replica) {
		errs[i] = p.metrics.glance(ctx, p.clock, 0, func(ctx context.Context) error {
			text, err := p.Replica.Scrape(ctx)
			if err == nil {
				scrapes[i], err = observe.Parse(text)
			}
			return err
		})
	})
	whole = true
	for i, scrape := range scrapes {
		if errors.Is(errs[i], target.ErrNoMetrics) {
			continue
		}
		if errs[i] != nil {
			whole = false
			continue
		}
		if cpu, rss, ok := scrape.Usage(); ok {
			sums = scraped{sums.cpu + cpu, sums.rss + rss, true}
		}
		t.pushes(row, now, i, scrape)
	}
	return sums, whole
}

// pushes adds what a replica has sent since the line before.
func (t *timeline) pushes(row *rows.Timeline, now *reading, replica int, scrape observe.Scrape) {
	pushes, ok := scrape.Pushes()
	if !ok {
		return
	}
	if last, known := t.last.pushes[replica]; known && pushes >= last {
		if row.Pushes == nil {
			row.Pushes = new(float64)
		}
		*row.Pushes += pushes - last
	}
	now.pushes[replica] = pushes
}

// target adds what the control plane has used.
func (t *timeline) target(row *rows.Timeline, now *reading, cpu, rss float64) {
	now.cpu, now.hasCost = cpu, true
	if t.last.hasCost && cpu >= t.last.cpu {
		row.Cores = ratio(cpu-t.last.cpu, now.at.Sub(t.last.at).Seconds())
	}
	resident := int64(rss)
	row.RSSBytes = &resident
}

func ratio(x, y float64) *float64 {
	if y <= 0 {
		return nil
	}
	q := x / y
	return &q
}

// events describes what happened since the line before.
func (t *timeline) events(now *reading) (phase, event string) {
	t.r.mu.Lock()
	current := t.r.phase
	t.r.mu.Unlock()
	var found []string
	if current != t.phase {
		found = append(found, "phase "+string(current))
		t.phase = current
	}
	if n := now.disconnected - t.last.disconnected; n > 0 {
		found = append(found, fmt.Sprintf("disconnects %d", n))
	}
	for i, p := range t.r.replicas {
		name := "target "
		if t.r.several() {
			name = t.r.replicaNames([]int{i})
		}
		if t.last.pids != nil && now.pids[i] != t.last.pids[i] {
			found = append(found, name+"restarted")
		}
		if p.exited() {
			found = append(found, name+"down")
		}
	}
	return string(current), strings.Join(found, "; ")
}
