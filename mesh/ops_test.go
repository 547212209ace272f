package mesh_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/mesh"
)

// statesOf works the states out from the slices alone.
func statesOf(s *mesh.Service, clusters []event.Expected) []event.Expected {
	out := make([]event.Expected, len(clusters))
	for i := range clusters {
		out[i] = clusters[i]
		out[i].State = 0
		for _, slice := range s.Slices() {
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready == nil || *e.Conditions.Ready {
					hash := event.EndpointHash(e.Addresses[0], uint32(*slice.Ports[i].Port))
					out[i].State = out[i].State.Add(hash)
				}
			}
		}
	}
	return out
}

// podsOf lists the pods of each slice.
func podsOf(s *mesh.Service) [][]string {
	var out [][]string
	for _, slice := range s.Slices() {
		names := []string{}
		for _, e := range slice.Endpoints {
			names = append(names, e.TargetRef.Name)
		}
		out = append(out, names)
	}
	return out
}

// encode writes slices as JSON, to see whether they change.
func encode(t *rapid.T, slices []*discoveryv1.EndpointSlice) string {
	b, err := json.Marshal(slices)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// operate makes one random operation and returns what it did.
func operate(t *rapid.T, m *mesh.Mesh, s *mesh.Service) mesh.Change {
	condition := rapid.SampledFrom([]mesh.Condition{mesh.NotReady, mesh.Ready, mesh.Terminating}).Draw(t, "condition")
	held := podsOf(s)
	in := rapid.IntRange(0, len(held)-1).Draw(t, "slice")
	what := rapid.IntRange(0, 2).Draw(t, "what")
	var change mesh.Change
	var err error
	if what == 0 || len(held[in]) == 0 {
		var pods []mesh.Pod
		for i := range rapid.IntRange(1, 60).Draw(t, "pods") {
			pod, err := s.NewPod(m.NextPod() + i)
			if err != nil {
				t.Fatal(err)
			}
			pods = append(pods, pod)
		}
		change, err = s.Add(s.Room(len(pods)), condition, pods...)
	} else {
		n := rapid.IntRange(1, min(8, len(held[in]))).Draw(t, "n")
		first := rapid.IntRange(0, len(held[in])-n).Draw(t, "first")
		pods := held[in][first : first+n]
		if what == 1 {
			change, err = s.Set(condition, pods...)
		} else {
			change, err = s.Remove(pods...)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return change
}

// Invariants of the model, for any sequence of operations: the states kept step
// by step are those of the slices; a change is silent exactly when it changes no
// state; only the slice it names changes; slices hold a hundred endpoints at most;
// no address comes twice; objects handed out before do not change.
func TestStatesFollowAnySequenceOfOperations(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cfg := mesh.Config{Spec: mesh.DefaultSpec(), Seed: 1, RunID: "test"}
		cfg.Services, cfg.Ports = 2, rapid.IntRange(1, 3).Draw(t, "ports")
		cfg.EndpointsPerService = rapid.IntRange(1, 130).Draw(t, "endpoints")
		m, err := mesh.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := m.Services[rapid.IntRange(0, 1).Draw(t, "service")]
		for range rapid.IntRange(1, 12).Draw(t, "operations") {
			before, objects := s.States(), s.Slices()
			was := encode(t, objects)
			change := operate(t, m, s)
			check(t, s, change, before, objects)
			if encode(t, objects) != was {
				t.Fatal("an operation changed objects handed out before")
			}
		}
	})
}

func check(t *rapid.T, s *mesh.Service, change mesh.Change, before []event.Expected, objects []*discoveryv1.EndpointSlice) {
	now := s.States()
	if diff := cmp.Diff(statesOf(s, now), now); diff != "" {
		t.Fatalf("states kept step by step (-from slices +kept):\n%s", diff)
	}
	if change.States == nil && !cmp.Equal(before, now) {
		t.Fatal("a silent change changed the states")
	}
	if change.States != nil && (cmp.Equal(before, now) || !cmp.Equal(change.States, now)) {
		t.Fatalf("the change says %v, states were %v and are %v", change.States, before, now)
	}
	seen := map[string]bool{}
	for i, slice := range s.Slices() {
		if len(slice.Endpoints) > 100 {
			t.Fatalf("slice %d holds %d endpoints", i, len(slice.Endpoints))
		}
		if i != change.Slice && !cmp.Equal(objects[i], slice) {
			t.Fatalf("slice %d changed, the change says %d", i, change.Slice)
		}
		for _, e := range slice.Endpoints {
			if seen[e.Addresses[0]] {
				t.Fatalf("address %s comes twice", e.Addresses[0])
			}
			seen[e.Addresses[0]] = true
		}
	}
}

func TestConditionsAreSpeltAsKubernetesDoes(t *testing.T) {
	t.Parallel()
	m := newMesh(t, nil)
	s := m.Services[0]
	name := s.Ready()[0]
	for condition, want := range map[mesh.Condition][3]bool{
		mesh.Ready:       {true, true, false},
		mesh.NotReady:    {false, false, false},
		mesh.Terminating: {false, true, true},
	} {
		if _, err := s.Set(condition, name); err != nil {
			t.Fatal(err)
		}
		c := s.Slice(0).Endpoints[0].Conditions
		if got := [3]bool{*c.Ready, *c.Serving, *c.Terminating}; got != want {
			t.Errorf("condition %d: ready, serving, terminating %v, want %v", condition, got, want)
		}
	}
}

func TestOperationsThatCannotBeChangeNothing(t *testing.T) {
	t.Parallel()
	m := newMesh(t, func(cfg *mesh.Config) { cfg.Services, cfg.EndpointsPerService = 1, 150 })
	s := m.Services[0]
	names := podsOf(s)
	fresh := func(n int) []mesh.Pod {
		var out []mesh.Pod
		for i := range n {
			pod, err := s.NewPod(m.NextPod() + i)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, pod)
		}
		return out
	}
	one := fresh(1)
	before, next := s.Slices(), m.NextPod()
	for name, try := range map[string]func() (mesh.Change, error){
		"full slice":       func() (mesh.Change, error) { return s.Add(0, mesh.Ready, one...) },
		"slice too far":    func() (mesh.Change, error) { return s.Add(3, mesh.Ready, one...) },
		"more than fits":   func() (mesh.Change, error) { return s.Add(2, mesh.Ready, fresh(101)...) },
		"same pod twice":   func() (mesh.Change, error) { return s.Add(1, mesh.Ready, one[0], one[0]) },
		"set unknown":      func() (mesh.Change, error) { return s.Set(mesh.Ready, "nobody") },
		"set none":         func() (mesh.Change, error) { return s.Set(mesh.Ready) },
		"set two slices":   func() (mesh.Change, error) { return s.Set(mesh.NotReady, names[0][0], names[1][0]) },
		"remove unknown":   func() (mesh.Change, error) { return s.Remove(names[0][0], "nobody") },
		"remove one twice": func() (mesh.Change, error) { return s.Remove(names[0][0], names[0][0]) },
	} {
		if _, err := try(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if !cmp.Equal(before, s.Slices()) || m.NextPod() != next {
			t.Fatalf("%s: changed the model", name)
		}
	}
	if _, ok := s.SliceOf("nobody"); ok {
		t.Error("an unknown pod has a slice")
	}
}

func TestPodNumbersAreNeverReusedAndRunOut(t *testing.T) {
	t.Parallel()
	m := newMesh(t, nil)
	s := m.Services[0]
	next := m.NextPod()
	pod, err := s.NewPod(next + 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(0, mesh.Ready, pod); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Remove(pod.Name); err != nil {
		t.Fatal(err)
	}
	if got := m.NextPod(); got != next+11 {
		t.Errorf("next pod is %d, want %d", got, next+11)
	}
	if pod, err := s.NewPod(256*256*254 - 1); err != nil || pod.IP != "10.255.255.254" {
		t.Errorf("last pod: %q, %v", pod.IP, err)
	}
	if _, err := s.NewPod(256 * 256 * 254); err == nil {
		t.Error("10.0.0.0/8 has no end")
	}
}

func TestAClonedServiceIsIndependent(t *testing.T) {
	t.Parallel()
	m := newMesh(t, nil)
	s := m.Services[0]
	before, next := s.Slices(), m.NextPod()
	c := s.Clone()
	pod, err := c.NewPod(next)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Add(0, mesh.Ready, pod); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set(mesh.Terminating, c.Ready()[0]); err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(before, s.Slices()) || m.NextPod() != next {
		t.Error("operations on the clone changed the service")
	}
	if cmp.Equal(c.States(), s.States()) {
		t.Error("operations on the clone did not change it")
	}
}

// BenchmarkOperation changes one endpoint of a full slice and makes the object
// to be written, as each write of a run does.
func BenchmarkOperation(b *testing.B) {
	m := newMesh(b, func(cfg *mesh.Config) { cfg.Services, cfg.EndpointsPerService = 1, 1000 })
	s := m.Services[0]
	pods := s.Ready()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		change, err := s.Set([]mesh.Condition{mesh.NotReady, mesh.Ready}[i/len(pods)%2], pods[i%len(pods)])
		if err != nil {
			b.Fatal(err)
		}
		_ = s.Slice(change.Slice)
		i++
	}
}
