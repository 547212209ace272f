package churn

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/xdsbench/xdsbench/mesh"
)

// Schedule is a plan of writes.
type Schedule struct {
	// Steps are the writes, in the order of their offsets.
	Steps []Step
	// Warnings say which part of the profile could not be planned, and what to do.
	Warnings []string
}

// Len returns how many writes are planned.
func (s *Schedule) Len() int { return len(s.Steps) }

// Step is one planned write of one EndpointSlice.
type Step struct {
	// Seq numbers the steps from 1; Op the operations that they belong to.
	Seq, Op uint64
	// Kind is the operation's, Name is what this write does in it, such as
	// "terminating".
	Kind, Name string
	// Service and Object, the slice, are "namespace/name".
	Service, Object string
	// Offset is the scheduled time of the write from the start of the run.
	Offset time.Duration

	change change
	// creates says that the slice does not exist before the write.
	creates bool
}

// change is what a step does to the model of its service.
type change struct {
	action    action
	condition mesh.Condition
	// add are the fresh pods of an addition to the slice with index slice.
	add   []mesh.Pod
	slice int
	// pods are the names of those set or removed.
	pods []string
}

type action uint8

const (
	actionAdd action = iota
	actionSet
	actionRemove
)

// apply makes the change to the model.
func (c change) apply(s *mesh.Service) (mesh.Change, error) {
	switch c.action {
	case actionAdd:
		return s.Add(c.slice, c.condition, c.add...)
	case actionSet:
		return s.Set(c.condition, c.pods...)
	default:
		return s.Remove(c.pods...)
	}
}

// Plan works out all writes that the churn entries make to the mesh within the
// steady time. It leaves the mesh as it is. It fails if the specs are invalid or
// there is no service to change; what can be done only in part is a warning.
//
// The names and addresses of new pods start where the mesh's own end, so make a
// second plan for the same mesh only after the first has been run.
func Plan(specs []Spec, m *mesh.Mesh, steady time.Duration, seed uint64) (*Schedule, error) {
	for i, spec := range specs {
		if err := spec.Validate(); err != nil {
			path := fmt.Sprintf("churn[%d].", i)
			return nil, errors.New(path + strings.ReplaceAll(err.Error(), "\n", "\n"+path))
		}
	}
	p := &planner{mesh: m, steady: steady, models: map[*mesh.Service]*model{}, nextPod: m.NextPod()}
	for _, s := range m.Services {
		if !s.Headless() {
			p.targets = append(p.targets, s)
		}
	}
	if len(p.targets) == 0 && len(specs) > 0 {
		return nil, errors.New("churn: every service is headless, so there is nothing to change: lower mesh.headless")
	}
	for i, spec := range specs {
		spec = spec.WithDefaults()
		if spec.Rate == 0 {
			p.warnf("churn[%d]: %s: its rate is 0/s: it changes nothing", i, spec.Kind)
			continue
		}
		e := &entry{
			Spec: spec,
			path: fmt.Sprintf("churn[%d]: %s", i, spec.Kind),
			// Times and choices have a generator each, so that the times do not
			// depend on what is chosen.
			pace:   newPace(spec, rand.New(rand.NewPCG(seed, uint64(2*i)))),
			choice: rand.New(rand.NewPCG(seed, uint64(2*i+1))),
		}
		p.entries = append(p.entries, e)
		p.at(e.pace.now(), func() error { return p.start(e) })
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	p.warn()
	return &p.out, nil
}
