package churn

import (
	"context"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/mesh"
)

// Names of the steps that are writes of pods.
const (
	stepPodCreated = "pod-created"
	stepPodDeleted = "pod-deleted"
)

// AnnouncePods makes the writes of pods mutations too, which the proxies of an audience
// must be told of as workloads: those of ambient nodes, whose control plane goes by the
// pods and not by the slices. Call it once, before the run.
func (s *Schedule) AnnouncePods(to *event.Audience) {
	s.podsTo = to
	seq := uint64(len(s.Steps))
	joined := map[string]bool{}
	for i := range s.Steps {
		step := &s.Steps[i]
		step.podSeq = seq + 1
		for _, pod := range step.joins {
			joined[workload(pod)] = true
		}
		for _, pod := range step.leaves {
			if !joined[workload(pod)] {
				s.baseline = append(s.baseline, s.expected(pod, event.Present))
			}
		}
		seq += uint64(len(step.joins) + len(step.leaves))
	}
	s.podWrites = int(seq) - len(s.Steps) //nolint:gosec // a few per step
	if s.podWrites > 0 {
		s.types[xds.Workload] = true
	}
}

// workload is how Istio names the workload of a pod.
func workload(pod mesh.Pod) string { return "Kubernetes//Pod/" + pod.Namespace + "/" + pod.Name }

func (s *Schedule) expected(pod mesh.Pod, state event.Fingerprint) event.Expected {
	return event.Expected{
		ResourceState: event.ResourceState{Type: xds.Workload, Name: workload(pod), State: state},
		Audience:      s.podsTo,
	}
}

// announce makes the nth write of the pods of a step, as a mutation if pods are to be
// announced.
func (c *companion) announce(step *Step, n int, pod mesh.Pod, state event.Fingerprint, write func() error) {
	if c.cfg.Schedule.podsTo == nil {
		_ = write() // it has been counted
		return
	}
	name, scheduled := stepPodDeleted, c.cfg.Start.Add(step.Offset)
	if state == event.Present {
		name, scheduled = stepPodCreated, max(c.cfg.Start, scheduled.Add(-companionLead))
	}
	m := &event.Mutation{
		Seq: step.podSeq + uint64(n), Op: step.Op, Kind: step.Kind, Step: name, //nolint:gosec // an index
		Service: step.Service, Object: pod.Namespace + "/" + pod.Name, Scheduled: scheduled,
		States: []event.Expected{c.cfg.Schedule.expected(pod, state)}, Issued: c.cfg.Clock.Now(),
	}
	c.stats.Issued++
	c.cfg.Sink.Begin(m)
	m.Err = write()
	m.Acked = c.cfg.Clock.Now()
	if m.Err != nil {
		c.stats.Failed++
	}
	c.cfg.Sink.End(m)
}

// createPods makes the pods that a step adds.
func (c *companion) createPods(ctx context.Context, step *Step) {
	for i, pod := range step.joins {
		c.announce(step, i, pod, event.Present, func() error { return c.createPod(ctx, pod) })
	}
}

// deletePods deletes the pods that a step removes.
func (c *companion) deletePods(ctx context.Context, step *Step) {
	for i, pod := range step.leaves {
		c.announce(step, len(step.joins)+i, pod, event.Absent, func() error { return c.deletePod(ctx, pod.Namespace, pod.Name) })
	}
}
