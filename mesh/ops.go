package mesh

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/xdsbench/xdsbench/event"
)

// maxEndpointsPerSlice is the default of the EndpointSlice controller:
// https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/
const maxEndpointsPerSlice = 100

// Condition is the state of one endpoint in its slice.
type Condition uint8

// The conditions of an endpoint, as the three booleans of its EndpointSlice
// give them. Only a ready endpoint is usable.
const (
	// NotReady: its pod has not passed, or no longer passes, its readiness probe.
	NotReady Condition = iota
	// Ready: it takes traffic.
	Ready
	// Terminating: its pod is being deleted and still serves: ready is false,
	// serving and terminating are true.
	Terminating
)

// conditions returns the condition as an EndpointSlice spells it.
func (c Condition) conditions() discoveryv1.EndpointConditions {
	return discoveryv1.EndpointConditions{
		Ready:       new(c == Ready),
		Serving:     new(c != NotReady),
		Terminating: new(c == Terminating),
	}
}

// Change is what one operation did.
type Change struct {
	// Slice is the index of the EndpointSlice that changed, or OfService.
	Slice int
	// States are the resources that changed, with their state after the change; nil
	// if no proxy can see it.
	States []event.Expected
}

// Room returns the first slice with room for n more pods, n being at most 100.
// It is NumSlices if a slice has to be created.
func (s *Service) Room(n int) int {
	for i := range s.slices {
		if len(s.slices[i].endpoints)+n <= maxEndpointsPerSlice {
			return i
		}
	}
	return len(s.slices)
}

// SliceOf returns the slice that holds the pod.
func (s *Service) SliceOf(pod string) (slice int, ok bool) {
	m, ok := s.pods[pod]
	if !ok {
		return 0, false
	}
	return m.slice, true
}

// Add puts pods into one slice. It fails, and changes nothing, if the slice has
// no room or a pod is there already.
func (s *Service) Add(slice int, c Condition, pods ...Pod) (Change, error) {
	if slice < 0 || slice > len(s.slices) {
		return Change{}, fmt.Errorf("service %s: slice %d of %d: a new slice follows the last", s.Key(), slice, len(s.slices))
	}
	held := 0
	if slice < len(s.slices) {
		held = len(s.slices[slice].endpoints)
	}
	if held+len(pods) > maxEndpointsPerSlice {
		return Change{}, fmt.Errorf("service %s: slice %d: no room for %d more endpoints beside %d", s.Key(), slice, len(pods), held)
	}
	for i, pod := range pods {
		_, taken := s.pods[pod.Name]
		if taken || slices.ContainsFunc(pods[:i], func(p Pod) bool { return p.Name == pod.Name }) {
			return Change{}, fmt.Errorf("service %s: pod %q is an endpoint already", s.Key(), pod.Name)
		}
	}
	s.grow(slice)
	for _, pod := range pods {
		s.slices[slice].endpoints = append(s.slices[slice].endpoints, endpoint(pod, c))
		s.pods[pod.Name] = &member{pod: pod, slice: slice, condition: c}
		if c == Ready {
			s.usable(pod, event.Fingerprint.Add)
		}
		s.reserve(pod.number)
	}
	if s.headless && c == Ready {
		return Change{Slice: slice, States: s.listeners(event.Present, pods...)}, nil
	}
	if c != Ready {
		pods = nil
	}
	return s.change(slice, pods), nil
}

// Set gives pods of one slice a condition. It fails, and changes nothing, if
// they are unknown or in several slices.
func (s *Service) Set(c Condition, pods ...string) (Change, error) {
	slice, err := s.sameSlice(pods)
	if err != nil {
		return Change{}, err
	}
	var shown []Pod
	for _, name := range pods {
		m := s.pods[name]
		if (m.condition == Ready) != (c == Ready) {
			shown = append(shown, m.pod)
			step := event.Fingerprint.Remove
			if c == Ready {
				step = event.Fingerprint.Add
			}
			s.usable(m.pod, step)
		}
		m.condition = c
		s.slices[slice].endpoints[s.position(slice, name)].Conditions = c.conditions()
	}
	if s.headless && c == Ready {
		return Change{Slice: slice, States: s.listeners(event.Present, shown...)}, nil
	}
	if s.headless {
		return Change{Slice: slice}, nil // its listeners stay until it is no longer listed
	}
	return s.change(slice, shown), nil
}

// Remove takes pods out of one slice. It fails, and changes nothing, if they
// are unknown or in several slices.
func (s *Service) Remove(pods ...string) (Change, error) {
	change, err := s.Set(NotReady, pods...)
	if err != nil {
		return Change{}, err
	}
	for _, name := range pods {
		if s.headless {
			change.States = append(change.States, s.listeners(event.Absent, s.pods[name].pod)...)
		}
		at := s.position(change.Slice, name)
		s.slices[change.Slice].endpoints = slices.Delete(s.slices[change.Slice].endpoints, at, at+1)
		delete(s.pods, name)
	}
	return change, nil
}

// usable adds one endpoint to the fingerprint of every port, or removes it.
func (s *Service) usable(pod Pod, step func(event.Fingerprint, uint64) event.Fingerprint) {
	for i, p := range s.ports {
		if target, ok := s.target(s.pods[pod.Name].slice, p.name); ok {
			s.states[i].State = step(s.states[i].State, event.EndpointHash(pod.IP, uint32(target)))
		}
	}
}

// change is one that made these pods usable, or unusable.
func (s *Service) change(slice int, pods []Pod) Change {
	if len(pods) == 0 || s.headless || s.absent {
		return Change{Slice: slice}
	}
	var changed []string
	for _, version := range versions() {
		if slices.ContainsFunc(pods, func(p Pod) bool { return p.Labels[versionLabel] == version }) {
			changed = append(changed, version)
		}
	}
	return Change{Slice: slice, States: append(slices.Clone(s.states), s.subsetStates(changed...)...)}
}

// sameSlice returns the slice that holds all the pods, each named once.
func (s *Service) sameSlice(pods []string) (int, error) {
	if len(pods) == 0 {
		return 0, fmt.Errorf("service %s: no pod named", s.Key())
	}
	slice := -1
	for i, name := range pods {
		m, ok := s.pods[name]
		switch {
		case !ok || slices.Contains(pods[:i], name):
			return 0, fmt.Errorf("service %s: pod %q is not an endpoint, or is named twice", s.Key(), name)
		case slice >= 0 && m.slice != slice:
			return 0, fmt.Errorf("service %s: pod %q is in slice %d, not in slice %d: one operation changes one slice", s.Key(), name, m.slice, slice)
		}
		slice = m.slice
	}
	return slice, nil
}

// position returns where in the slice the pod is. It is there.
func (s *Service) position(slice int, pod string) int {
	return slices.IndexFunc(s.slices[slice].endpoints, func(e discoveryv1.Endpoint) bool {
		return e.TargetRef.Name == pod
	})
}

// reserve makes sure that no later pod of the mesh gets this number.
func (s *Service) reserve(number int) {
	for {
		next := s.next.Load()
		if int64(number) < next || s.next.CompareAndSwap(next, int64(number)+1) {
			return
		}
	}
}

// endpoint returns the pod as a slice lists it.
func endpoint(pod Pod, c Condition) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses:  []string{pod.IP},
		Conditions: c.conditions(),
		NodeName:   new(pod.Node),
		Zone:       new(pod.Zone),
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name},
	}
}
