package churn

import (
	"time"

	"github.com/xdsbench/xdsbench/mesh"
)

// startRollout starts a rollout of a service whose rollout ends within the
// window. When none does, none will later: the entry has ended.
func (p *planner) startRollout(e *entry, now time.Duration) error {
	left := float64(e.pace.end - now)
	idle := false
	m := p.choose(e, func(m *model) bool {
		able := !m.rolling && len(m.free) > 0
		idle = idle || able
		return able && float64(writesPerPod*len(m.free)-1)*e.pace.gap() <= left
	})
	if m == nil && idle {
		return nil
	}
	if m == nil {
		e.skipped++
		e.pace.advance(1)
		p.at(e.pace.now(), func() error { return p.start(e) })
		return nil
	}
	times := make([]time.Duration, writesPerPod*len(m.free))
	for i := range times {
		times[i] = e.pace.now()
		e.pace.advance(1)
	}
	if times[len(times)-1] >= e.pace.end {
		return nil
	}
	e.started++
	p.rollout(p.begin(e, m), times)
	p.at(e.pace.now(), func() error { return p.start(e) })
	return nil
}

// rollout replaces the service's free pods one after the other, at the given
// times. The new pods are free as soon as they are ready.
func (p *planner) rollout(op operation, times []time.Duration) {
	old := op.model.free
	op.model.free, op.model.rolling = nil, true
	for i, pod := range old {
		t := times[writesPerPod*i:]
		pods := []string{pod}
		p.at(t[0], func() error {
			fresh, err := p.addNow(op, t[0], mesh.NotReady, 1)
			if err != nil {
				return err
			}
			p.set(op, t[1], mesh.Ready, fresh)
			return nil
		})
		p.set(op, t[2], mesh.Terminating, pods)
		p.remove(op, t[3], stepRemoval, pods)
	}
	p.at(times[len(times)-1], func() error {
		op.model.rolling = false
		return nil
	})
}

// deploy replaces the free pods of a service as a Deployment does whose pods become
// ready after the entry's delay: in rounds, in each of which the pods of the last one
// become ready, as many old ones are drained, and as many new ones added.
func (p *planner) deploy(e *entry) int {
	now := e.pace.now()
	m := p.choose(e, func(m *model) bool {
		rounds := (len(m.free) + e.MaxSurge + e.MaxUnavailable - 1) / (e.MaxSurge + e.MaxUnavailable)
		return !m.rolling && e.spare(m) && now+time.Duration(rounds)*e.ReadyDelay.Duration <= p.steady
	})
	if m == nil {
		return 0
	}
	op, old := p.begin(e, m), m.free
	m.free, m.rolling = nil, true
	// A pod stays in use, whatever may be unavailable.
	unavailable := min(e.MaxUnavailable, len(old)-1)
	width := max(e.MaxSurge+unavailable, 1)
	p.retire(e, op, now, old[:unavailable])
	writes := writesPerPod * len(old)
	left, drained := len(old), unavailable
	for at := now; left > 0; at += e.ReadyDelay.Duration {
		n := min(width, left)
		left -= n
		ready := at + e.ReadyDelay.Duration
		retired := old[drained:min(drained+n, len(old))]
		if left == 0 {
			retired = old[drained:]
		}
		drained += len(retired)
		last := left == 0
		p.at(at, func() error {
			fresh, err := p.addSome(op, at, mesh.NotReady, n)
			if err != nil {
				return err
			}
			p.at(ready, func() error {
				for _, group := range m.bySlice(fresh) {
					m.free = append(m.free, group...)
					if err := p.emit(op, ready, stepReady, setting{condition: mesh.Ready, pods: group}); err != nil {
						return err
					}
				}
				p.retire(e, op, ready, retired)
				if last {
					m.rolling = false
				}
				return nil
			})
			return nil
		})
	}
	return writes
}

// addSome adds n fresh pods, in more writes than one if they do not fit into one slice.
func (p *planner) addSome(op operation, at time.Duration, c mesh.Condition, n int) ([]string, error) {
	var all []string
	for n > 0 {
		some := min(n, maxPods)
		names, err := p.addNow(op, at, c, some)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
		n -= some
	}
	return all, nil
}

// retire drains pods that may lie in several slices.
func (p *planner) retire(e *entry, op operation, at time.Duration, pods []string) {
	for _, group := range op.model.bySlice(pods) {
		p.drain(e, op, at, group)
	}
}

// scaleTo brings a service to a size, and back after the hold.
func (p *planner) scaleTo(e *entry) int {
	m := p.choose(e, func(m *model) bool { return !m.rolling && e.spare(m) && len(m.free) != e.Size })
	if m == nil {
		return 0
	}
	op, now, was := p.begin(e, m), e.pace.now(), len(m.free)
	writes := p.resize(e, op, now, e.Size)
	if e.Hold.Duration > 0 {
		m.rolling = true // not to be scaled anew before it is back
		back := now + e.Hold.Duration
		p.at(back, func() error {
			m.rolling = false
			p.resize(e, op, back, was)
			return nil
		})
		writes *= 2
	}
	return writes
}

// resize plans the writes that give a service this many free pods.
func (p *planner) resize(e *entry, op operation, at time.Duration, size int) int {
	m := op.model
	if more := size - len(m.free); more > 0 {
		p.at(at, func() error {
			_, err := p.addSome(op, at, mesh.Ready, more)
			return err
		})
		return (more + maxPods - 1) / maxPods
	}
	if size == len(m.free) {
		return 0
	}
	gone := m.free[size:]
	m.free = m.free[:size:size]
	p.retire(e, op, at, gone)
	return 2 * len(m.bySlice(gone))
}

// place takes all free pods of one node, or zone, out of use, in all services, but for
// one in each: for good if the node is drained, for a while if it is lost.
func (p *planner) place(e *entry) int {
	first := e.choice.IntN(len(p.mesh.Nodes))
	for i := range p.mesh.Nodes {
		node := p.mesh.Nodes[(first+i)%len(p.mesh.Nodes)]
		if writes := p.leave(e, node.Name, zoneOf(node)); writes > 0 {
			return writes
		}
	}
	return 0
}

// leave is place with the node or zone chosen.
func (p *planner) leave(e *entry, node, zone string) int {
	p.ops++
	id, now, writes := p.ops, e.pace.now(), 0
	for _, s := range e.targets {
		m := p.model(s)
		gone := m.takeOn(func(pod mesh.Pod) bool {
			return e.Kind == zoneLoss && pod.Zone == zone || e.Kind != zoneLoss && pod.Node == node
		})
		if !m.Exists() || len(gone) == 0 {
			continue
		}
		m.touched = true
		op := operation{id: id, kind: e.Kind, model: m}
		for _, group := range m.bySlice(gone) {
			writes += 2
			if e.Kind == nodeDrain {
				p.drain(e, op, now, group)
				continue
			}
			p.set(op, now, mesh.NotReady, group)
			p.set(op, now+e.Hold.Duration, mesh.Ready, group)
		}
	}
	return writes
}
