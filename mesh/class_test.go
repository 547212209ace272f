package mesh_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/mesh"
)

func TestClassesSayHowManyServicesOfEachSizeThereAre(t *testing.T) {
	t.Parallel()
	m := newMesh(t, func(cfg *mesh.Config) {
		cfg.Classes = []mesh.Class{{Services: 1, Endpoints: 250, Ports: 32}, {Services: 3, Endpoints: 2}, {Services: 2, Headless: true}}
	})
	type size struct {
		class, endpoints, ports int
		headless                bool
	}
	var got []size
	for _, s := range m.Services {
		got = append(got, size{s.Class(), s.Endpoints(), s.Ports(), s.Headless()})
	}
	small, headless := size{class: 1, endpoints: 2, ports: 1}, size{class: 2, ports: 1, headless: true}
	want := []size{{endpoints: 250, ports: 32}, small, small, small, headless, headless}
	if !slices.Equal(got, want) {
		t.Errorf("services %v, want %v", got, want)
	}
}

func TestPortProtocolsAreTakenInTurnAndUDPHasNoCluster(t *testing.T) {
	t.Parallel()
	m := newMesh(t, func(cfg *mesh.Config) {
		cfg.Ports, cfg.PortProtocols = 6, []string{"http", "udp", "tcp", "grpc"}
	})
	s := m.Services[0]
	var names []string
	for _, p := range s.Object().Spec.Ports {
		names = append(names, p.Name)
		if (p.Protocol == corev1.ProtocolUDP) != strings.HasPrefix(p.Name, "udp") {
			t.Errorf("port %s is %s", p.Name, p.Protocol)
		}
	}
	if got, want := strings.Join(names, " "), "http-80 tcp-9002 grpc-9003 http-9004 udp-9001 udp-9005"; got != want {
		t.Errorf("ports %s, want %s", got, want)
	}
	if len(s.Slice(0).Ports) != 6 || len(s.States()) != 4 {
		t.Errorf("%d ports in the slice and %d clusters, want 6 and 4", len(s.Slice(0).Ports), len(s.States()))
	}
	hosts := 0
	for _, r := range s.Resources() {
		if r.Type == xds.RDS {
			hosts++
		}
	}
	if hosts != 3 {
		t.Errorf("%d virtual hosts, want those of two HTTP ports and a gRPC port", hosts)
	}
}

func TestOdditiesStayWhateverChurnDoes(t *testing.T) {
	t.Parallel()
	m := newMesh(t, func(cfg *mesh.Config) { cfg.Oddities, cfg.Headless, cfg.Namespaces, cfg.Ports = 0.5, 0.5, 1, 2 })
	odd := 0
	for _, s := range m.Services {
		if !s.Fixed() {
			continue
		}
		odd++
		if s.Headless() || len(s.Slices()) != s.NumSlices()+4 || len(s.Pods()) != s.Endpoints()+1 {
			t.Fatalf("%s: headless %v, %d slices, %d pods", s.Key(), s.Headless(), len(s.Slices()), len(s.Pods()))
		}
		if _, err := s.Set(mesh.NotReady, s.Ready()...); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SetPort(0, 7777); err != nil {
			t.Fatal(err)
		}
		checkUsable(t, s)
		for name, hashes := range s.Usable() {
			if len(hashes) < 5 || len(hashes) > 6 {
				t.Errorf("%s: %d endpoints without those of churn, want 5 or 6", name, len(hashes))
			}
		}
	}
	if odd != 25 {
		t.Errorf("%d services have oddities, want half of those that are not headless", odd)
	}
}

// checkUsable compares a service's states with what its slices hold.
func checkUsable(t *testing.T, s *mesh.Service) {
	t.Helper()
	inSlices := make(map[string]event.Fingerprint)
	for _, slice := range s.Slices() {
		for _, p := range slice.Ports {
			for _, e := range slice.Endpoints {
				if slice.AddressType == discoveryv1.AddressTypeFQDN || e.Conditions.Ready != nil && !*e.Conditions.Ready {
					continue
				}
				for _, address := range e.Addresses {
					inSlices[*p.Name] = inSlices[*p.Name].Add(event.EndpointHash(address, uint32(*p.Port)))
				}
			}
		}
	}
	for i, state := range s.States() {
		name := s.Object().Spec.Ports[i].Name
		if state.State != inSlices[name] || state.State != event.FingerprintOf(s.Usable()[state.Name]) {
			t.Errorf("%s port %s: state %x, in the slices %x, usable %v", s.Key(), name, state.State, inSlices[name], s.Usable()[state.Name])
		}
	}
}

func TestConfigObjectsFromTheStartAreThoseOfTheFirstServices(t *testing.T) {
	t.Parallel()
	m := newMesh(t, func(cfg *mesh.Config) { cfg.VirtualServices, cfg.DestinationRules = 3, 1 })
	var names []string
	for _, c := range m.Configs {
		names = append(names, c.Object.GetName())
	}
	want := "xb-virtual-service-svc-0 xb-virtual-service-svc-1 xb-virtual-service-svc-2 xb-destination-rule-svc-0"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("objects %s, want %s", got, want)
	}
	first, second, other := m.Services[0], m.Services[1], m.Services[3]
	if !first.Fixed() || other.Fixed() || !m.HasConfig(mesh.VirtualService, second) || m.HasConfig(mesh.DestinationRule, second) {
		t.Error("services with objects are not told from those without")
	}
	for s, want := range map[*mesh.Service]event.Fingerprint{first: event.MarkState(0), second: event.Present} {
		if got := s.Resources()[0]; got.Type != xds.CDS || got.State != want {
			t.Errorf("%s: its cluster is %+v, want state %x", s.Key(), got, want)
		}
	}
}

func TestImpossibleClassesPortsAndSharesAreRefusedTogether(t *testing.T) {
	t.Parallel()
	spec := mesh.DefaultSpec()
	spec.Services, spec.Headless, spec.Distribution, spec.Ports = 7, 0.5, "zipf", 33
	spec.Classes = []mesh.Class{{Services: 0}, {Services: 1 << 20, Endpoints: 100}, {Services: 2, Endpoints: -1, Ports: 40}}
	spec.PortProtocols, spec.Oddities = []string{"sctp"}, 1.5
	spec.VirtualServices, spec.DestinationRules = -1, 1<<30
	err := spec.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"mesh.services: 7: is not used", "mesh.headless: 0.5: is not used", "mesh.distribution: zipf: is not used", "mesh.ports: 33: must be at most 32",
		"mesh.classes[0].services: 0: must", "mesh.classes[1].endpoints: 100: must", "mesh.classes[2].endpoints: -1: must", "mesh.classes[2].ports: 40: must",
		`mesh.portProtocols[0]: "sctp": must be one of http, tcp, grpc, udp`, "mesh.oddities: 1.5: must", "mesh.virtualServices: -1: must", "mesh.destinationRules: 1073741824: must",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
	onlyUDP := mesh.DefaultSpec()
	onlyUDP.PortProtocols = []string{"udp", "http"}
	if err := onlyUDP.Validate(); err == nil || !strings.Contains(err.Error(), "mesh.portProtocols: udp, http: ") {
		t.Errorf("services with a UDP port alone: %v", err)
	}
}
