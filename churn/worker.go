package churn

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/mesh"
)

// job is one step, at the worker that makes it.
type job struct {
	step    *Step
	service *mesh.Service
	// created is closed when the pods that the step adds have been written, or
	// tried; nil if it adds none.
	created chan struct{}
	// written is closed when the step has been made, or tried; nil if nobody waits for it.
	// after is that of the step that makes the namespace of the pods; nil if it exists.
	written, after chan struct{}
}

// worker makes all steps of some services, in order.
type worker struct {
	cfg    Config
	stores map[string]store
	jobs   []*job

	// Used by the goroutine of run alone.
	versions map[string]string // the last resourceVersion of each object written
	behind   []pending         // the objects whose last write failed
	stats    Stats
}

// pending is an object that the API server does not have as the model has it.
type pending struct {
	object

	unit string
}

func newWorker(cfg Config) *worker {
	return &worker{cfg: cfg, stores: stores(cfg), versions: map[string]string{}}
}

// run makes the worker's steps, with two goroutines beside it for the pods, until ctx
// is done. Writes end with the context writing. It fails only if the model is not as
// planned.
func (w *worker) run(ctx, writing context.Context) error {
	creator, deleter := companion{cfg: w.cfg}, companion{cfg: w.cfg}
	gone := make(chan *Step, len(w.jobs))
	// The creator must not outlast steps that an error has ended.
	creating, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { creator.create(creating, writing, w.jobs) })
	wg.Go(func() { deleter.delete(writing, gone) })
	err := w.steps(ctx, writing, gone)
	stop()
	close(gone)
	wg.Wait()
	if ctx.Err() == nil {
		if err := w.repair(writing, func(pending) bool { return true }); err != nil {
			w.cfg.Log.Warn("objects stay behind the model", "objects", len(w.behind), "err", err)
		}
	}
	w.stats.Behind = len(w.behind)
	w.stats.add(creator.stats)
	w.stats.add(deleter.stats)
	return err
}

// steps makes the steps, each at its time, until ctx is done. It sends those whose
// pods are to be deleted to gone, which has room for all.
func (w *worker) steps(ctx, writing context.Context, gone chan<- *Step) error {
	for _, j := range w.jobs {
		if !sleepUntil(ctx, w.cfg.Clock, w.cfg.Start.Add(j.step.Offset)) {
			return nil
		}
		if j.created != nil {
			select {
			case <-j.created:
			case <-ctx.Done():
				return nil
			}
		}
		err := w.issue(writing, j)
		if j.written != nil {
			close(j.written)
		}
		if err != nil {
			return err
		}
		if len(j.step.leaves)+len(j.step.swept) > 0 {
			gone <- j.step
		}
	}
	return nil
}

// issue makes one step: in the model, then in the API server.
func (w *worker) issue(ctx context.Context, j *job) error {
	done, err := j.step.change.apply(w.cfg.Mesh, j.service)
	if err != nil {
		return fmt.Errorf("step %d is not possible, run a schedule once and on the mesh it was planned for: %w", j.step.Seq, err)
	}
	unit := j.step.unit
	err = w.repair(ctx, func(p pending) bool { return p.unit == unit && !p.same(done.object) })
	m := &event.Mutation{
		Seq:       j.step.Seq,
		Op:        j.step.Op,
		Kind:      j.step.Kind,
		Step:      j.step.Name,
		Service:   j.step.Service,
		Object:    j.step.Object,
		Scheduled: w.cfg.Start.Add(j.step.Offset),
		States:    done.states,
		Issued:    w.cfg.Clock.Now(),
	}
	w.stats.Issued++
	w.cfg.Sink.Begin(m)
	// The states are those of all slices together: without the others in place
	// this write could not lead to them.
	if err == nil {
		err = w.put(ctx, done.object, j.step.creates)
	}
	m.Acked = w.cfg.Clock.Now()
	m.Err = err
	w.note(pending{done.object, unit}, err)
	if err != nil {
		w.stats.Failed++
		w.cfg.Log.Warn("write failed", "object", done.kind+" "+done.key, "step", j.step.Name, "err", err)
	}
	w.cfg.Sink.End(m)
	return nil
}

// note keeps account of which objects are behind the model.
func (w *worker) note(p pending, err error) {
	at := slices.IndexFunc(w.behind, func(b pending) bool { return b.same(p.object) })
	if at >= 0 {
		w.behind = slices.Delete(w.behind, at, at+1)
	}
	if err != nil {
		w.behind = append(w.behind, p)
	}
}

// repair writes again the objects that are behind, out of those asked for. It
// stops at the first that fails.
func (w *worker) repair(ctx context.Context, wanted func(pending) bool) error {
	for _, p := range slices.Clone(w.behind) {
		if !wanted(p) {
			continue
		}
		if err := w.put(ctx, p.object, false); err != nil {
			return fmt.Errorf("repeat the failed write of %s: %w", p.key, err)
		}
		w.note(p, nil)
		w.stats.Repairs++
	}
	return nil
}
