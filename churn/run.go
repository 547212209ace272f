package churn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/mesh"
)

const (
	defaultWorkers = 32
	// companionLead is how long before its slice write a pod is created, so that
	// creating it does not make the write late.
	companionLead = 100 * time.Millisecond
	// writeTimeout bounds one write with its retries.
	writeTimeout = 30 * time.Second
	// endGrace is how long writes under way may take after the context of Run is done.
	endGrace = 3 * time.Second
)

// Sink takes the mutations of a run. Its methods are called by several
// goroutines at once; for one service in order.
type Sink interface {
	// Begin is called when Issued is stamped and States are set, before the
	// write. Acked and Err are not to be read until End.
	Begin(m *event.Mutation)
	// End is called when the API server has answered: Acked is stamped, and Err
	// says whether the write failed. Churn does not touch the mutation any more.
	End(m *event.Mutation)
}

// Config says what to run.
type Config struct {
	Client kubernetes.Interface
	// Dynamic writes what Client has no type for; nil if the schedule has no such kind.
	Dynamic dynamic.Interface
	// Schedule was planned for Mesh, whose objects the API server has. Nothing
	// else may use the mesh's services until Run has returned.
	Schedule *Schedule
	Mesh     *mesh.Mesh
	Sink     Sink
	Clock    event.Clock
	// Start is when the schedule's offsets begin.
	Start event.Time
	// Workers is how many writes are made at once; 0 means 32.
	Workers int
	// Log takes failures; nil discards them.
	Log *slog.Logger
}

// Stats counts what a run did.
type Stats struct {
	// Scheduled are the steps of the schedule; Issued those that were begun,
	// Failed those of them whose write failed.
	Scheduled, Issued, Failed int
	// Conflicts are writes that were made again because the object had changed.
	Conflicts int
	// Repairs are objects written again after a failed write; Behind those that
	// still are not as the model has them.
	Repairs, Behind int
	// CompanionWrites are the writes of pods; CompanionFailed those that failed.
	CompanionWrites, CompanionFailed int
}

// add sums two counts; Scheduled is not a worker's.
func (s *Stats) add(o Stats) {
	s.Issued += o.Issued
	s.Failed += o.Failed
	s.Conflicts += o.Conflicts
	s.Repairs += o.Repairs
	s.Behind += o.Behind
	s.CompanionWrites += o.CompanionWrites
	s.CompanionFailed += o.CompanionFailed
}

// Run makes the writes of the schedule, each at its scheduled time or as soon after it
// as the API server lets it, and returns when all are answered. When ctx is done no
// further step is begun, writes under way have 3 seconds to end, and the error wraps
// the context's. A write that fails is no error of Run: it is counted.
func Run(ctx context.Context, cfg Config) (Stats, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Workers <= 0 {
		cfg.Workers = defaultWorkers
	}
	workers, err := assign(cfg)
	if err != nil {
		return Stats{}, err
	}
	stats := Stats{Scheduled: cfg.Schedule.Len()}
	// A worker that finds the model not as planned ends the run for all.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	writing, endWriting := outlive(ctx, endGrace)
	defer endWriting()
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() {
			if err := w.run(ctx, writing); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	for _, w := range workers {
		stats.add(w.stats)
	}
	if err := context.Cause(ctx); err != nil {
		return stats, fmt.Errorf("churn stopped after %d of %d writes: %w", stats.Issued, stats.Scheduled, err)
	}
	return stats, nil
}

// assign gives each service, with all of its steps, to a worker: what one service holds is
// changed and read by one goroutine.
func assign(cfg Config) ([]*worker, error) {
	if cfg.Schedule == nil || cfg.Mesh == nil || cfg.Client == nil || cfg.Sink == nil {
		return nil, errors.New("churn: Client, Schedule, Mesh and Sink are all needed")
	}
	byService := map[string]*worker{}
	var workers []*worker
	namespaced := map[string]*job{} // by service, what makes its namespace
	for i := range cfg.Schedule.Steps {
		step := &cfg.Schedule.Steps[i]
		service := cfg.Mesh.Service(step.Service)
		if service == nil && step.change.needsService() {
			return nil, fmt.Errorf("churn: service %s is not in the mesh: run the schedule on the mesh it was planned for", step.Service)
		}
		w, ok := byService[step.Service]
		if !ok {
			if len(byService) < cfg.Workers {
				workers = append(workers, newWorker(cfg))
			}
			w = workers[len(byService)%cfg.Workers]
			byService[step.Service] = w
		}
		j := &job{step: step, service: service}
		if len(step.joins) > 0 {
			j.created = make(chan struct{})
			if before := namespaced[step.Service]; before != nil {
				j.after = before.written
			}
		}
		if step.Name == stepNamespace && step.creates {
			j.written = make(chan struct{})
			namespaced[step.Service] = j
		}
		w.jobs = append(w.jobs, j)
	}
	return workers, nil
}

// outlive returns a context that ends the given time after ctx does: writes under way
// can end, but a hung API server cannot hold up the end of a run.
func outlive(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

// sleepUntil waits for a time and reports whether ctx is still good.
func sleepUntil(ctx context.Context, clock event.Clock, t event.Time) bool {
	if wait := t.Sub(clock.Now()); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	return ctx.Err() == nil
}
