package churn

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/mesh"
)

// Schedule is a plan of writes.
type Schedule struct {
	// Steps are the writes, in the order of their offsets.
	Steps []Step
	// Warnings say which part of the profile could not be planned, and what to do.
	Warnings []string

	// prepared is what the plan wants of the mesh before it begins.
	prepared preparation
	baseline []event.Expected
	types    map[xds.Type]bool
	external map[string]event.Fingerprint
	// podsTo must be told of the pods, if it is not nil: see AnnouncePods.
	podsTo    *event.Audience
	podWrites int
}

// Len returns how many writes are planned: those of pods, too, if they are announced.
func (s *Schedule) Len() int { return len(s.Steps) + s.podWrites }

// Types returns the types of resource that the writes change, in order: the fleet must
// report these.
func (s *Schedule) Types() []xds.Type { return slices.Sorted(maps.Keys(s.types)) }

// Baseline returns the states, before the first write, of the resources other than EDS
// that the writes change. Those that do not exist then are left out.
func (s *Schedule) Baseline() []event.Expected { return s.baseline }

// External yields the clusters that are of no service of the mesh, but of service entries,
// after the last write, with the hashes of their endpoints.
func (s *Schedule) External() iter.Seq2[string, []uint64] {
	return func(yield func(string, []uint64) bool) {
		for _, name := range slices.Sorted(maps.Keys(s.external)) {
			// Each has one endpoint, whose hash is thus the fingerprint.
			if state := s.external[name]; state != event.Absent && !yield(name, []uint64{uint64(state)}) {
				return
			}
		}
	}
}

// Step is one planned write of one object.
type Step struct {
	// Seq numbers the steps from 1; Op the operations that they belong to.
	Seq, Op uint64
	// Kind is the operation's, Name is what this write does in it, such as
	// "terminating".
	Kind, Name string
	// Service and Object, what is written, are "namespace/name".
	Service, Object string
	// Offset is the scheduled time of the write from the start of the run.
	Offset time.Duration

	change change
	// unit is what must be in place before the write, if it failed: the writes of the same
	// unit.
	unit string
	// creates says that the object does not exist before the write.
	creates bool
	// joins and leaves are the pods to be created before the write and deleted after it.
	joins, leaves []mesh.Pod
	// podSeq is the Seq of the first write of these, if they are announced.
	podSeq uint64
	// account is to be created before the pods, if it is not ""; swept are the slices to
	// be deleted after the write.
	account string
	swept   []string
}

// PodChange is a pod that a schedule adds or removes.
type PodChange struct {
	// Offset is that of the write which adds the pod's endpoint, or removes it.
	Offset time.Duration
	// Kind is the operation's.
	Kind string
	Pod  mesh.Pod
}

// Joins returns the pods that the schedule adds, in order.
func (s *Schedule) Joins() []PodChange {
	return s.pods(func(step *Step) []mesh.Pod { return step.joins })
}

// Leaves returns the pods that the schedule removes, in order.
func (s *Schedule) Leaves() []PodChange {
	return s.pods(func(step *Step) []mesh.Pod { return step.leaves })
}

func (s *Schedule) pods(of func(*Step) []mesh.Pod) []PodChange {
	var out []PodChange
	for i := range s.Steps {
		for _, pod := range of(&s.Steps[i]) {
			out = append(out, PodChange{Offset: s.Steps[i].Offset, Kind: s.Steps[i].Kind, Pod: pod})
		}
	}
	return out
}

// Plan works out all writes that the churn entries make to the mesh within the
// steady time. It leaves the mesh as it is. It fails if the specs are invalid or
// there is no service to change; what can be done only in part is a warning.
//
// The names and addresses of new pods start where the mesh's own end, so make a
// second plan for the same mesh only after the first has been run.
func Plan(specs []Spec, m *mesh.Mesh, steady time.Duration, seed uint64) (*Schedule, error) {
	if err := validate(specs); err != nil {
		return nil, err
	}
	p := &planner{mesh: m, steady: steady, models: map[*mesh.Service]*model{}, nextPod: m.NextPod(), based: map[xds.Type]map[string]bool{}, settled: map[string]bool{}}
	p.out.types, p.out.external = map[xds.Type]bool{}, map[string]event.Fingerprint{}
	for _, s := range m.Services {
		if s.Headless() {
			p.headless = append(p.headless, s)
		} else {
			p.targets = append(p.targets, s)
		}
	}
	if len(p.targets) == 0 && len(specs) > 0 {
		return nil, errors.New("churn: every service is headless, so there is nothing to change: lower mesh.headless")
	}
	for i, spec := range specs {
		spec = spec.WithDefaults()
		if spec.off() {
			p.warnf("churn[%d]: %s: its rate is 0/s: it changes nothing", i, spec.Kind)
			continue
		}
		e := &entry{
			Spec:  spec,
			trait: traitOf(spec.Kind),
			path:  fmt.Sprintf("churn[%d]: %s", i, spec.Kind),
			// Times and choices have a generator each, so that the times do not
			// depend on what is chosen.
			pace:   newPace(spec, spec.window(steady), rand.New(rand.NewPCG(seed, uint64(2*i)))),
			choice: rand.New(rand.NewPCG(seed, uint64(2*i+1))),
		}
		if err := p.enter(e); err != nil {
			return nil, fmt.Errorf("churn[%d].%w", i, err)
		}
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	p.warn()
	return &p.out, nil
}

// validate returns the problems of all specs.
func validate(specs []Spec) error {
	var all []error
	for i, spec := range specs {
		if err := spec.Validate(); err != nil {
			path := fmt.Sprintf("churn[%d].", i)
			all = append(all, errors.New(path+strings.ReplaceAll(err.Error(), "\n", "\n"+path)))
		}
	}
	return errors.Join(all...)
}
