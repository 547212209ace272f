package mesh_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/mesh"
)

func TestSubsetsHaveTheUsablePodsOfTheirVersion(t *testing.T) {
	t.Parallel()
	m := newMesh(t, func(cfg *mesh.Config) {
		cfg.DestinationRules, cfg.Subsets, cfg.Ports, cfg.Oddities = 1, true, 2, 1
	})
	s := m.Services[0]
	check := func(states []event.Expected) {
		t.Helper()
		for _, state := range states {
			if got := event.FingerprintOf(s.Usable()[state.Name]); got != state.State {
				t.Errorf("%s: usable endpoints add up to %x, state is %x", state.Name, got, state.State)
			}
		}
	}
	check(s.States())
	pod := s.Ready()[0]
	before := s.States()
	change, err := s.Set(mesh.NotReady, pod)
	if err != nil {
		t.Fatal(err)
	}
	check(change.States)
	p, _ := s.Pod(pod)
	host := "svc-0.xb-0.svc.cluster.local"
	version := p.Labels["version"]
	want := []string{"outbound|80||" + host, "outbound|9001||" + host, "outbound|80|" + version + "|" + host, "outbound|9001|" + version + "|" + host}
	var got []string
	for _, state := range change.States {
		got = append(got, state.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("clusters that a pod which is not ready changes (-want +got):\n%s", diff)
	}
	if len(before) != 6 || len(m.Services[1].States()) != 2 {
		t.Errorf("%d and %d clusters, want 6 with subsets and 2 without", len(before), len(m.Services[1].States()))
	}
	port, err := s.SetPort(0, 7777)
	if err != nil {
		t.Fatal(err)
	}
	check(port.States)
	if len(port.States) != 3 {
		t.Errorf("the port of a slice changes %d clusters, want that of the port and its subsets", len(port.States))
	}
	rule, err := m.ConfigObject(mesh.DestinationRule, s, 0)
	if err != nil || len(rule.States) != 6 || rule.Object.Object["spec"].(map[string]any)["subsets"] == nil {
		t.Errorf("the DestinationRule shows in %d clusters, want 6; %v", len(rule.States), err)
	}
}

func TestSubsetsNeedDestinationRulesAndIstiosNames(t *testing.T) {
	t.Parallel()
	cfg := mesh.Config{Spec: mesh.DefaultSpec(), ClusterName: "{service}"}
	cfg.Subsets = true
	err := cfg.Validate()
	for _, want := range []string{"mesh.subsets: true: without mesh.destinationRules", "mesh.subsets needs Istio's names"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}
