package mesh

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// OfService is Change.Slice where it is the Service that changed, and none of its slices.
const OfService = -1

// noteAnnotation is on slices that were updated without a change of content.
const noteAnnotation = "xdsbench.io/note"

// maxServicePorts bounds the ports that a service can come to have.
const maxServicePorts = 64

// firstAddedPort is the number of the first port that is added to a service.
const firstAddedPort = 9500

// Exists reports whether the service is in the API server: false before Create and after
// Delete.
func (s *Service) Exists() bool { return !s.absent }

// Pod returns a pod of the service.
func (s *Service) Pod(name string) (Pod, bool) {
	m, ok := s.pods[name]
	if !ok {
		return Pod{}, false
	}
	return m.pod, true
}

// Endpoints returns how many pods the service has, in whatever condition.
func (s *Service) Endpoints() int { return len(s.pods) }

// Ports returns how many ports the service has.
func (s *Service) Ports() int { return len(s.ports) }

// Touch changes an annotation of a slice: no proxy can see it.
func (s *Service) Touch(slice int) (Change, error) {
	if slice < 0 || slice >= len(s.slices) {
		return Change{}, fmt.Errorf("service %s: no slice %d", s.Key(), slice)
	}
	s.slices[slice].note++
	return Change{Slice: slice}, nil
}

// RoomBeside returns the first slice but one with room for n more pods; NumSlices if a
// slice has to be created.
func (s *Service) RoomBeside(slice, n int) int {
	for i := range s.slices {
		if i != slice && len(s.slices[i].endpoints)+n <= maxEndpointsPerSlice {
			return i
		}
	}
	return len(s.slices)
}

// Copy lists pods of one slice in another one as well, to which they belong from now on.
// As Kubernetes has it, they are in both until Drop takes them from the first; no proxy
// can see any of it. It fails, and changes nothing, if there is no room.
func (s *Service) Copy(slice int, pods ...string) (Change, error) {
	from, err := s.sameSlice(pods)
	if err != nil {
		return Change{}, err
	}
	if slice < 0 || slice > len(s.slices) || slice == from {
		return Change{}, fmt.Errorf("service %s: pods cannot move from slice %d to slice %d", s.Key(), from, slice)
	}
	s.grow(slice)
	if held := len(s.slices[slice].endpoints); held+len(pods) > maxEndpointsPerSlice {
		return Change{}, fmt.Errorf("service %s: slice %d: no room for %d more endpoints beside %d", s.Key(), slice, len(pods), held)
	}
	for _, name := range pods {
		e := s.slices[from].endpoints[s.position(from, name)]
		s.slices[slice].endpoints = append(s.slices[slice].endpoints, e)
		s.pods[name].slice = slice
	}
	return Change{Slice: slice}, nil
}

// Drop takes pods out of a slice that they have left by Copy.
func (s *Service) Drop(slice int, pods ...string) (Change, error) {
	for _, name := range pods {
		m, ok := s.pods[name]
		at := -1
		if ok && m.slice != slice && slice >= 0 && slice < len(s.slices) {
			at = s.position(slice, name)
		}
		if at < 0 {
			return Change{}, fmt.Errorf("service %s: pod %q is no copy in slice %d", s.Key(), name, slice)
		}
		s.slices[slice].endpoints = slices.Delete(s.slices[slice].endpoints, at, at+1)
	}
	return Change{Slice: slice}, nil
}

// SetPort gives the first port of a slice another number, in the slice alone.
func (s *Service) SetPort(slice int, number int32) (Change, error) {
	if slice < 0 || slice >= len(s.slices) {
		return Change{}, fmt.Errorf("service %s: no slice %d", s.Key(), slice)
	}
	was, own := s.subsetStates(versions()...), slices.Clone(s.listed(slice))
	own[0].target = number
	s.slices[slice].ports = own
	return Change{Slice: slice, States: s.recount(was)}, nil
}

// Retarget gives the first port of the Service another target port. Its slices keep the
// one they have until Sync.
func (s *Service) Retarget(number int32) (Change, error) {
	s.pin()
	s.ports = slices.Clone(s.ports)
	s.ports[0].target = number
	return Change{Slice: OfService}, nil
}

// AddPort adds an HTTP port to the Service. Its slices lack it until Sync.
func (s *Service) AddPort() (Change, error) {
	if len(s.ports) >= maxServicePorts {
		return Change{}, fmt.Errorf("service %s: has %d ports: no more are added", s.Key(), len(s.ports))
	}
	number := int32(firstAddedPort)
	for slices.ContainsFunc(s.ports, func(p port) bool { return p.number == number }) {
		number++
	}
	s.pin()
	s.ports = append(slices.Clone(s.ports), port{name: "http-" + strconv.Itoa(int(number)), number: number, target: number})
	s.states = append(s.states, s.stateOf(s.ports[len(s.ports)-1]))
	return Change{Slice: OfService, States: s.shown(len(s.ports) - 1)}, nil
}

// RemovePort removes the last port of the Service, which must have another. Its slices
// have it until Sync.
func (s *Service) RemovePort() (Change, error) {
	last := len(s.ports) - 1
	if last < 1 {
		return Change{}, fmt.Errorf("service %s: its only port is not removed", s.Key())
	}
	s.pin()
	gone := absent(s.shown(last))
	s.ports, s.states = slices.Clone(s.ports[:last]), s.states[:last]
	return Change{Slice: OfService, States: gone}, nil
}

// Sync gives a slice the ports of the Service.
func (s *Service) Sync(slice int) (Change, error) {
	if slice < 0 || slice >= len(s.slices) {
		return Change{}, fmt.Errorf("service %s: no slice %d", s.Key(), slice)
	}
	was := s.subsetStates(versions()...)
	s.slices[slice].ports = nil
	return Change{Slice: slice, States: s.recount(was)}, nil
}

// Create puts the Service into the API server, without endpoints.
func (s *Service) Create() (Change, error) {
	if !s.absent || len(s.pods) > 0 {
		return Change{}, fmt.Errorf("service %s: is there, or has endpoints, already", s.Key())
	}
	s.absent = false
	return Change{Slice: OfService, States: s.Resources()}, nil
}

// Delete removes the Service, and forgets its endpoints, which nobody can see any more.
func (s *Service) Delete() (Change, error) {
	if s.absent {
		return Change{}, fmt.Errorf("service %s: is not there", s.Key())
	}
	gone := absent(s.Resources())
	s.absent = true
	s.pods = map[string]*member{}
	s.slices = nil
	s.grow(0)
	for i := range s.states {
		s.states[i].State = event.Absent
	}
	return Change{Slice: OfService, States: gone}, nil
}

// Resources returns what the service makes proxies show: a cluster, its endpoints and,
// for HTTP, a virtual host at each sidecar, for each port. It is nil for a headless
// service.
func (s *Service) Resources() []event.Expected {
	if s.headless || s.absent {
		return nil
	}
	var out []event.Expected
	for i := range s.ports {
		out = append(out, s.shown(i)...)
	}
	return out
}

// shown returns the resources of a port.
func (s *Service) shown(port int) []event.Expected {
	eds, cds := s.states[port], event.Present
	if s.ruled {
		cds = event.MarkState(0)
	}
	out := []event.Expected{
		{ResourceState: event.ResourceState{Type: xds.CDS, Name: eds.Name, State: cds}, Audience: eds.Audience},
		eds,
	}
	if p := s.ports[port]; p.http() {
		host := s.name + "." + s.namespace + ".svc.cluster.local:" + strconv.Itoa(int(p.number))
		out = append(out, event.Expected{
			ResourceState: event.ResourceState{Type: xds.RDS, Name: host, State: event.Present}, Audience: s.sidecars(),
		})
	}
	return out
}

// absent returns the resources as they are when they are gone.
func absent(shown []event.Expected) []event.Expected {
	out := slices.Clone(shown)
	for i := range out {
		out[i].State = event.Absent
	}
	return out
}

// listed returns the ports as a slice lists them.
func (s *Service) listed(slice int) []port {
	if own := s.slices[slice].ports; own != nil {
		return own
	}
	return s.ports
}

// pin makes all slices keep the ports that they have.
func (s *Service) pin() {
	for i := range s.slices {
		s.slices[i].ports = s.listed(i)
	}
}

// recount works out the states from the slices, and returns those that have changed; of
// the subsets, since they were as given.
func (s *Service) recount(wasSubsets []event.Expected) []event.Expected {
	was := slices.Clone(s.states)
	for i, p := range s.ports {
		s.states[i].State = event.FingerprintOf(s.oddHashes(p.name))
		for _, m := range s.pods {
			if target, ok := s.target(m.slice, p.name); ok && m.condition == Ready {
				s.states[i].State = s.states[i].State.Add(event.EndpointHash(m.pod.IP, uint32(target)))
			}
		}
	}
	var changed []event.Expected
	for i := range s.states {
		if s.states[i] != was[i] && !s.headless && !s.absent {
			changed = append(changed, s.states[i])
		}
	}
	for i, state := range s.subsetStates(versions()...) {
		if state != wasSubsets[i] {
			changed = append(changed, state)
		}
	}
	return changed
}

// target returns the number that a slice has for the port of a name; false if it does not
// list it.
func (s *Service) target(slice int, name string) (int32, bool) {
	for _, p := range s.listed(slice) {
		if p.name == name {
			return p.target, true
		}
	}
	return 0, false
}

// listeners returns what pods of a headless service make sidecars show: a listener for
// each TCP port, at the address of each pod.
func (s *Service) listeners(state event.Fingerprint, pods ...Pod) []event.Expected {
	var out []event.Expected
	for _, pod := range pods {
		for _, p := range s.ports {
			if strings.HasPrefix(p.name, "tcp") {
				name := pod.IP + "_" + strconv.Itoa(int(p.number))
				out = append(out, event.Expected{
					ResourceState: event.ResourceState{Type: xds.LDS, Name: name, State: state}, Audience: s.sidecars(),
				})
			}
		}
	}
	return out
}
