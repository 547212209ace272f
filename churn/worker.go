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
}

// slot is one slice of a service.
type slot struct {
	service *mesh.Service
	slice   int
}

// worker makes all steps of some services, in order.
type worker struct {
	cfg  Config
	jobs []*job

	// Used by the goroutine of run alone.
	versions map[string]string // the last resourceVersion of each slice written
	behind   []slot            // the slices whose last write failed
	stats    Stats
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
		if err := w.repair(writing, func(slot) bool { return true }); err != nil {
			w.cfg.Log.Warn("slices stay behind the model", "slices", len(w.behind), "err", err)
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
		if err := w.issue(writing, j); err != nil {
			return err
		}
		if j.step.change.action == actionRemove {
			gone <- j.step
		}
	}
	return nil
}

// issue makes one step: in the model, then in the API server.
func (w *worker) issue(ctx context.Context, j *job) error {
	done, err := j.step.change.apply(j.service)
	if err != nil {
		return fmt.Errorf("step %d is not possible, run a schedule once and on the mesh it was planned for: %w", j.step.Seq, err)
	}
	here := slot{j.service, done.Slice}
	err = w.repair(ctx, func(s slot) bool { return s.service == here.service && s != here })
	object := j.service.Slice(done.Slice)
	m := &event.Mutation{
		Seq:       j.step.Seq,
		Op:        j.step.Op,
		Kind:      j.step.Kind,
		Step:      j.step.Name,
		Service:   j.step.Service,
		Object:    j.step.Object,
		Scheduled: w.cfg.Start.Add(j.step.Offset),
		States:    done.States,
		Issued:    w.cfg.Clock.Now(),
	}
	w.stats.Issued++
	w.cfg.Sink.Begin(m)
	// The states are those of all slices together: without the others in place
	// this write could not lead to them.
	if err == nil {
		err = w.put(ctx, object, j.step.creates)
	}
	m.Acked = w.cfg.Clock.Now()
	m.Err = err
	w.note(here, err)
	if err != nil {
		w.stats.Failed++
		w.cfg.Log.Warn("write failed", "slice", j.step.Object, "step", j.step.Name, "err", err)
	}
	w.cfg.Sink.End(m)
	return nil
}

// note keeps account of which slices are behind the model.
func (w *worker) note(s slot, err error) {
	at := slices.Index(w.behind, s)
	switch {
	case err != nil && at < 0:
		w.behind = append(w.behind, s)
	case err == nil && at >= 0:
		w.behind = slices.Delete(w.behind, at, at+1)
	}
}

// repair writes again the slices that are behind, out of those asked for. It
// stops at the first that fails.
func (w *worker) repair(ctx context.Context, wanted func(slot) bool) error {
	for _, s := range slices.Clone(w.behind) {
		if !wanted(s) {
			continue
		}
		err := w.put(ctx, s.service.Slice(s.slice), false)
		if err != nil {
			return fmt.Errorf("repeat the failed write of %s: %w", s.service.SliceKey(s.slice), err)
		}
		w.note(s, nil)
		w.stats.Repairs++
	}
	return nil
}
