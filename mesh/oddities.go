package mesh

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/xdsbench/xdsbench/event"
)

// oddities are what is rare in a service, beside the endpoints that churn changes. They
// never change, and keep the ports that the service had at first.
type oddities struct {
	pod    *Pod  // of this service, and an endpoint of the next one too
	pods   []Pod // it, and that of the one before
	ports  []port
	slices []*discoveryv1.EndpointSlice
	usable []string // the addresses that proxies must hold
}

// addOddities gives the stated share of the services that are not headless their
// oddities, chosen by the seed.
func (m *Mesh) addOddities(spec Spec, seed uint64) error {
	var able []*Service
	for _, s := range m.Services {
		if !s.headless {
			able = append(able, s)
		}
	}
	count := int(math.Round(spec.Oddities * float64(len(able))))
	last := make(map[string]*Service) // by namespace
	for _, i := range rand.New(rand.NewPCG(seed, streamOddities)).Perm(len(able))[:count] {
		s := able[i]
		pod, err := s.NewPod(m.NextPod())
		if err != nil {
			return err
		}
		s.reserve(pod.number)
		shared := []Pod{pod}
		if before := last[s.namespace]; before != nil {
			shared = append(shared, *before.odd.pod)
		}
		s.addOddities(shared)
		last[s.namespace] = s
	}
	return nil
}

// addOddities makes the slices, with these pods in one of them. Their other addresses are
// of TEST-NET-3 (RFC 5737) and of the documentation's prefix (RFC 3849).
func (s *Service) addOddities(pods []Pod) {
	s.odd = &oddities{pod: &pods[0], pods: pods, ports: s.ports}
	host := s.number%hostsPerSubnet + 1
	v4, other := fmt.Sprintf("203.0.113.%d", host), fmt.Sprintf("203.0.113.%d", host%hostsPerSubnet+1)
	unset := fmt.Sprintf("203.0.113.%d", (host+1)%hostsPerSubnet+1)
	v6 := fmt.Sprintf("2001:db8::%x", s.number+1)
	ready := Ready.conditions()
	of := func(addresses ...string) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: addresses, Conditions: ready}
	}
	endpoints := []discoveryv1.Endpoint{of(v4, other), {Addresses: []string{unset}}}
	s.odd.usable = []string{v4, other, unset, v6}
	for _, pod := range pods {
		endpoints = append(endpoints, endpoint(pod, Ready))
		s.odd.usable = append(s.odd.usable, pod.IP)
	}
	ports := s.endpointPorts(s.ports)
	s.odd.slices = []*discoveryv1.EndpointSlice{
		s.oddSlice("odd", discoveryv1.AddressTypeIPv4, ports, endpoints...),
		s.oddSlice("ipv6", discoveryv1.AddressTypeIPv6, ports, of(v6)),
		s.oddSlice("fqdn", discoveryv1.AddressTypeFQDN, ports, of(s.name+".example.com")),
		s.oddSlice("portless", discoveryv1.AddressTypeIPv4, nil, of(v4)),
	}
	for i, p := range s.ports {
		s.states[i].State += event.FingerprintOf(s.oddHashes(p.name))
	}
}

func (s *Service) oddSlice(name string, t discoveryv1.AddressType, ports []discoveryv1.EndpointPort, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	out := &discoveryv1.EndpointSlice{AddressType: t, Ports: ports, Endpoints: endpoints}
	out.Name, out.Namespace, out.Labels = s.name+"-"+name, s.namespace, maps.Clone(s.sliceLabels)
	return out
}

// oddSlices returns copies of the slices.
func (s *Service) oddSlices() []*discoveryv1.EndpointSlice {
	if s.odd == nil {
		return nil
	}
	out := make([]*discoveryv1.EndpointSlice, len(s.odd.slices))
	for i, slice := range s.odd.slices {
		out[i] = slice.DeepCopy()
	}
	return out
}

// oddHashes returns the endpoints that the oddities add to the port of a name.
func (s *Service) oddHashes(name string) []uint64 {
	if s.odd == nil {
		return nil
	}
	var out []uint64
	for _, p := range s.odd.ports {
		for _, address := range s.odd.usable {
			if p.name == name {
				out = append(out, event.EndpointHash(address, uint32(p.target)))
			}
		}
	}
	return out
}

// Fixed reports whether the service has oddities, or config objects from the start: it
// and its ports must stay.
func (s *Service) Fixed() bool { return s.odd != nil || s.configured }
