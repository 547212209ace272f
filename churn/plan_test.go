package churn_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/mesh"
)

// kinds are those whose operations make the same writes for any service.
var kinds = []string{
	churn.PodDelete, churn.PodAdd, churn.RollingUpdate, churn.ReadinessFlap, churn.ScaleUp, churn.ScaleDown,
	"pod-crash", "noop-update", "slice-repack", "endpoint-port",
}

// newMesh makes a mesh of n services with endpoints each, spread over 3 namespaces.
func newMesh(tb testing.TB, services, endpoints int) *mesh.Mesh {
	tb.Helper()
	cfg := mesh.Config{Spec: mesh.DefaultSpec(), Proxies: 3, Seed: 7, RunID: "test"}
	cfg.Namespaces, cfg.Services, cfg.EndpointsPerService, cfg.Ports = 3, services, endpoints, 2
	m, err := mesh.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func plan(tb testing.TB, m *mesh.Mesh, steady time.Duration, specs ...churn.Spec) *churn.Schedule {
	tb.Helper()
	s, err := churn.Plan(specs, m, steady, 42)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// prepared is plan, with the mesh brought into the state in which the plan begins.
func prepared(tb testing.TB, m *mesh.Mesh, steady time.Duration, specs ...churn.Spec) *churn.Schedule {
	tb.Helper()
	s := plan(tb, m, steady, specs...)
	if err := s.Prepare(m); err != nil {
		tb.Fatal(err)
	}
	return s
}

// everything is one entry of each kind, but for those of config objects.
func everything() []churn.Spec {
	return entries(slices.DeleteFunc(churn.Kinds(), ofConfig))
}

// ofConfig reports whether a kind is about config objects.
func ofConfig(kind string) bool {
	return slices.ContainsFunc(mesh.ConfigKinds(), func(object mesh.ConfigKind) bool { return strings.HasPrefix(kind, string(object)+"-") })
}

// keepingOneUsable is one entry of each kind that leaves services an endpoint.
func keepingOneUsable() []churn.Spec {
	return entries(slices.DeleteFunc(churn.Kinds(), func(kind string) bool {
		return ofConfig(kind) || slices.Contains([]string{
			"first-endpoint", "last-endpoint", "service-add", "service-remove", "namespace-add", "namespace-remove",
		}, kind)
	}))
}

func entries(kinds []string) []churn.Spec {
	var specs []churn.Spec
	for i, kind := range kinds {
		s := churn.Spec{Kind: kind, Rate: 8}
		if kind == "scale-to" {
			s.Size = 4
		}
		if i%2 == 1 {
			s.Schedule = "poisson"
		}
		specs = append(specs, s)
	}
	return specs
}

func offsets(s *churn.Schedule) []time.Duration {
	var out []time.Duration
	for _, step := range s.Steps {
		out = append(out, step.Offset)
	}
	return out
}

func TestSameSeedGivesTheSamePlan(t *testing.T) {
	t.Parallel()
	first := plan(t, newMesh(t, 30, 5), 20*time.Second, everything()...)
	second := plan(t, newMesh(t, 30, 5), 20*time.Second, everything()...)
	for i := range first.Steps {
		// The verb shows the pods and their addresses too.
		if a, b := fmt.Sprintf("%+v", first.Steps[i]), fmt.Sprintf("%+v", second.Steps[i]); a != b {
			t.Fatalf("step %d differs:\n%s\n%s", i, a, b)
		}
	}
	if first.Len() != second.Len() || first.Len() < 700 {
		t.Errorf("%d and %d steps", first.Len(), second.Len())
	}
	other, err := churn.Plan(everything(), newMesh(t, 30, 5), 20*time.Second, 43)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(offsets(first), offsets(other)) {
		t.Error("another seed gives the same times")
	}
}

func TestPlanLeavesTheMeshAsItIs(t *testing.T) {
	t.Parallel()
	m := newMesh(t, 5, 4)
	var before []any
	for _, s := range m.Services {
		before = append(before, s.Slices())
	}
	next := m.NextPod()
	plan(t, m, 10*time.Second, everything()...)
	for i, s := range m.Services {
		if !cmp.Equal(before[i], any(s.Slices())) {
			t.Errorf("%s changed", s.Key())
		}
	}
	if m.NextPod() != next {
		t.Error("pod numbers were used up")
	}
}

func TestStepsAreNumberedInTheOrderOfTheirOffsets(t *testing.T) {
	t.Parallel()
	s := plan(t, newMesh(t, 30, 5), 20*time.Second, everything()...)
	if !slices.IsSorted(offsets(s)) {
		t.Error("offsets are not in order")
	}
	for i, step := range s.Steps {
		if step.Seq != uint64(i)+1 {
			t.Fatalf("step %d has number %d", i, step.Seq)
		}
	}
}

func TestConstantWritesAreEvenlySpaced(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{churn.PodAdd, churn.ScaleUp, churn.RollingUpdate} {
		at := offsets(plan(t, newMesh(t, 50, 5), 30*time.Second, churn.Spec{Kind: kind, Rate: 8}))
		if at[0] >= 125*time.Millisecond {
			t.Errorf("%s: the first write is at %v", kind, at[0])
		}
		for i := range at[1:] {
			if gap := at[i+1] - at[i]; (gap - 125*time.Millisecond).Abs() > time.Nanosecond {
				t.Errorf("%s: gap %d is %v, want 125ms", kind, i, gap)
			}
		}
	}
}

func TestEveryKindKeepsItsRateOfWrites(t *testing.T) {
	t.Parallel()
	const steady = 100 * time.Second
	for _, kind := range kinds {
		for _, schedule := range []string{"constant", "poisson"} {
			// A mesh that bears it: deletions alone use up 1,000 pods.
			s := plan(t, newMesh(t, 400, 12), steady, churn.Spec{Kind: kind, Rate: 20, Schedule: schedule, Pods: 2})
			// Poisson counts have a deviation of about the root of the count of operations.
			want, tolerance := 2000.0, 50.0
			if schedule == "poisson" {
				tolerance = 4 * 2 * math.Sqrt(want)
			}
			if got := float64(s.Len()); math.Abs(got-want) > tolerance {
				t.Errorf("%s, %s: %v writes in %v, want %v within %v", kind, schedule, got, steady, want, tolerance)
			}
			if len(s.Warnings) > 0 {
				t.Errorf("%s, %s: %v", kind, schedule, s.Warnings)
			}
		}
	}
}

func TestPoissonGapsAreExponential(t *testing.T) {
	t.Parallel()
	at := offsets(plan(t, newMesh(t, 10, 2), 200*time.Second, churn.Spec{Kind: churn.PodAdd, Rate: 50, Schedule: "poisson"}))
	var sum, squares float64
	for i := range at[1:] {
		gap := (at[i+1] - at[i]).Seconds()
		sum += gap
		squares += gap * gap
	}
	n := float64(len(at) - 1)
	mean := sum / n
	// With 10,000 gaps the mean's own deviation is 1%; an exponential
	// distribution's deviation equals its mean.
	if math.Abs(mean*50-1) > 0.05 {
		t.Errorf("mean gap %.4fs, want 0.02s", mean)
	}
	if cv := math.Sqrt(squares/n-mean*mean) / mean; math.Abs(cv-1) > 0.1 {
		t.Errorf("deviation over mean is %.2f, want 1", cv)
	}
}

func TestOperationsEndWithinTheirBound(t *testing.T) {
	t.Parallel()
	const steady = 10 * time.Second
	delay := 700 * time.Millisecond
	for _, kind := range kinds {
		s := plan(t, newMesh(t, 40, 5), steady,
			churn.Spec{Kind: kind, Rate: 10, Schedule: "poisson", Delay: metav1.Duration{Duration: delay}})
		limit := steady + delay
		if kind == churn.RollingUpdate {
			limit = steady
		}
		if last := s.Steps[s.Len()-1].Offset; last > limit {
			t.Errorf("%s: the last write is at %v, limit %v", kind, last, limit)
		}
		steps := map[uint64][]churn.Step{}
		for _, step := range s.Steps {
			steps[step.Op] = append(steps[step.Op], step)
		}
		for op, all := range steps {
			if all[0].Offset >= steady {
				t.Errorf("%s: operation %d starts at %v", kind, op, all[0].Offset)
			}
			checkSteps(t, kind, all, delay)
		}
	}
}

// checkSteps holds the writes of one operation against the ones documented.
func checkSteps(t *testing.T, kind string, steps []churn.Step, delay time.Duration) {
	t.Helper()
	want := map[string][]string{
		churn.PodDelete:     {"terminating", "removal"},
		churn.PodAdd:        {"add"},
		churn.RollingUpdate: slices.Repeat([]string{"add", "ready", "terminating", "removal"}, 5),
		churn.ReadinessFlap: {"unready", "ready"},
		churn.ScaleUp:       {"add"},
		churn.ScaleDown:     {"terminating", "removal"},
		"pod-crash":         {"crash"},
		"noop-update":       {"update"},
		"slice-repack":      {"copy", "drop"},
		"endpoint-port":     {"update"},
	}[kind]
	var got []string
	for _, s := range steps {
		got = append(got, s.Name)
		if s.Kind != kind || s.Service != steps[0].Service {
			t.Errorf("%s: a step of kind %s on %s, the operation is on %s", kind, s.Kind, s.Service, steps[0].Service)
		}
	}
	if kind == churn.RollingUpdate {
		// A service is rolled again with the pods it then has.
		want = want[:min(len(want), len(got))]
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: steps %v, want %v", kind, got, want)
	}
	if len(steps) == 2 && kind != "slice-repack" && steps[1].Offset-steps[0].Offset != delay {
		t.Errorf("%s: %v between the steps, want %v", kind, steps[1].Offset-steps[0].Offset, delay)
	}
}

func TestHotChurnGoesToTheFirstServiceThatIsNotHeadless(t *testing.T) {
	t.Parallel()
	cfg := mesh.Config{Spec: mesh.DefaultSpec(), Seed: 2}
	cfg.Headless = 0.6
	m, err := mesh.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	first := slices.IndexFunc(m.Services, func(s *mesh.Service) bool { return !s.Headless() })
	s := plan(t, m, 10*time.Second,
		churn.Spec{Kind: churn.ReadinessFlap, Rate: 4, Target: "hot"}, churn.Spec{Kind: churn.PodAdd, Rate: 20})
	touched := map[string]bool{}
	for _, step := range s.Steps {
		if step.Kind == churn.ReadinessFlap && step.Service != m.Services[first].Key() {
			t.Errorf("hot churn on %s", step.Service)
		}
		if m.Service(step.Service).Headless() {
			t.Errorf("%s is headless", step.Service)
		}
		touched[step.Service] = true
	}
	if len(touched) < 30 {
		t.Errorf("uniform churn of 200 operations touched %d of 40 services", len(touched))
	}
}

func TestWhatCannotBePlannedIsAWarning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec churn.Spec
		want string
	}{
		"pods used up":     {churn.Spec{Kind: churn.PodDelete, Rate: 20}, "churn[0]: pod-delete: 84 of 100 operations were skipped"},
		"rollout too long": {churn.Spec{Kind: churn.RollingUpdate, Rate: 1}, "no rollout fits into 10s at 1/s"},
		"too slow":         {churn.Spec{Kind: churn.PodDelete, Rate: 0.00001}, "no operation falls within 10s"},
		"off":              {churn.Spec{Kind: churn.PodDelete}, "its rate is 0/s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := plan(t, newMesh(t, 4, 5), 10*time.Second, c.spec)
			if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], c.want) {
				t.Errorf("warnings %q, want one with %q", s.Warnings, c.want)
			}
		})
	}
}

func TestPlanFailsForSpecsAndMeshesThatCannotWork(t *testing.T) {
	t.Parallel()
	_, err := churn.Plan([]churn.Spec{{Kind: churn.PodAdd, Rate: 1}, {Kind: "explode", Rate: -1}}, newMesh(t, 1, 1), time.Second, 1)
	if err == nil || !strings.HasPrefix(err.Error(), `churn[1].kind: "explode"`) || !strings.Contains(err.Error(), "\nchurn[1].rate: -1/s") {
		t.Errorf("error %v", err)
	}
	cfg := mesh.Config{Spec: mesh.DefaultSpec()}
	cfg.Headless = 1
	m, err := mesh.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := churn.Plan([]churn.Spec{{Kind: churn.PodDelete, Rate: 10}}, m, time.Second, 1); err == nil || !strings.Contains(err.Error(), "mesh.headless") {
		t.Errorf("error %v", err)
	}
	if s, err := churn.Plan(nil, m, time.Second, 1); err != nil || s.Len() != 0 {
		t.Errorf("no churn: %d steps, %v", s.Len(), err)
	}
}

func TestValidateListsEveryProblem(t *testing.T) {
	t.Parallel()
	spec := churn.Spec{
		Kind: "x", Rate: 1e9, Schedule: "weekly", Target: "cold", Pods: 101, Delay: metav1.Duration{Duration: -1},
	}
	var fields []string
	for line := range strings.Lines(spec.Validate().Error()) {
		field, _, _ := strings.Cut(line, ":")
		fields = append(fields, field)
	}
	if diff := cmp.Diff([]string{"kind", "schedule", "target", "rate", "pods", "delay"}, fields); diff != "" {
		t.Errorf("fields with problems (-want +got):\n%s", diff)
	}
	if err := (churn.Spec{Kind: churn.PodDelete, Rate: 10}).Validate(); err != nil {
		t.Errorf("the defaults are invalid: %v", err)
	}
}

// BenchmarkSchedule plans a minute of 500 writes per second on 1,000 services.
func BenchmarkSchedule(b *testing.B) {
	m := newMesh(b, 1000, 20)
	specs := []churn.Spec{
		{Kind: churn.RollingUpdate, Rate: 200},
		{Kind: churn.PodDelete, Rate: 200, Schedule: "poisson"},
		{Kind: churn.PodAdd, Rate: 100},
	}
	b.ReportAllocs()
	steps := 0
	for b.Loop() {
		steps += plan(b, m, time.Minute, specs...).Len()
	}
	each := float64(b.Elapsed().Nanoseconds()) / float64(steps)
	b.ReportMetric(each, "ns/step")
	// Of one processor, at 10,000 mutations per second.
	b.ReportMetric(each*10_000/1e9, "x-core@10k/s")
}
