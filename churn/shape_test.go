package churn_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/internal/rate"
	"github.com/xdsbench/xdsbench/mesh"
)

func seconds(n float64) metav1.Duration {
	return metav1.Duration{Duration: time.Duration(n * float64(time.Second))}
}

// between counts the writes of a stretch of time.
func between(s *churn.Schedule, from, to time.Duration) int {
	n := 0
	for _, at := range offsets(s) {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

func TestRatesFollowTheShape(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for name, c := range map[string]struct {
		spec churn.Spec
		// want is how many writes each quarter of 20 seconds has, within two.
		want [4]int
	}{
		"ramp":     {churn.Spec{Schedule: "ramp", Rate: 0, RateTo: 40}, [4]int{25, 75, 125, 175}},
		"steps":    {churn.Spec{Schedule: "steps", Rates: []rate.Rate{10, 0, 20, 40}}, [4]int{50, 0, 100, 200}},
		"on-off":   {churn.Spec{Schedule: "on-off", Rate: 10, On: seconds(5), Off: seconds(5)}, [4]int{50, 0, 50, 0}},
		"burst":    {churn.Spec{Schedule: "burst", N: 7, Every: seconds(5)}, [4]int{7, 7, 7, 7}},
		"window":   {churn.Spec{Rate: 10, Start: seconds(5), For: seconds(10)}, [4]int{0, 50, 50, 0}},
		"count":    {churn.Spec{Count: 40, Start: seconds(10)}, [4]int{0, 0, 20, 20}},
		"constant": {churn.Spec{Rate: 10}, [4]int{50, 50, 50, 50}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.spec.Kind = churn.PodAdd
			s := plan(t, newMesh(t, 20, 3), 20*second, c.spec)
			for i, want := range c.want {
				got := between(s, time.Duration(5*i)*second, time.Duration(5*i+5)*second)
				if got < want-2 || got > want+2 {
					t.Errorf("quarter %d has %d writes, want %d", i, got, want)
				}
			}
		})
	}
}

func TestACountIsKeptExactly(t *testing.T) {
	t.Parallel()
	for _, schedule := range []string{"constant", "poisson"} {
		s := plan(t, newMesh(t, 20, 5), 10*time.Second, churn.Spec{Kind: churn.PodDelete, Count: 13, Schedule: schedule})
		if s.Len() != 26 {
			t.Errorf("%s: %d writes of 13 operations, want 26", schedule, s.Len())
		}
	}
}

func TestARolloutInRoundsKeepsItsBounds(t *testing.T) {
	t.Parallel()
	m := newMesh(t, 1, 10)
	s := plan(t, m, 20*time.Second, churn.Spec{
		Kind: churn.RollingUpdate, Count: 1, For: seconds(1), MaxSurge: 2, MaxUnavailable: 1, ReadyDelay: seconds(1),
	})
	pods, listed := 10, 10
	fresh := map[string]bool{}
	for _, c := range s.Joins() {
		fresh[c.Pod.Name] = true
	}
	for _, step := range s.Steps {
		if step.Name == "removal" {
			listed--
		}
	}
	if len(fresh) != pods || len(s.Leaves()) != pods || listed > pods {
		t.Errorf("%d pods joined and %d left, of %d", len(fresh), len(s.Leaves()), pods)
	}
	for _, c := range s.Leaves() {
		if fresh[c.Pod.Name] {
			t.Errorf("%s joined and left in the same rollout", c.Pod.Name)
		}
	}
	if last := s.Steps[s.Len()-1].Offset - s.Steps[0].Offset; last != 4*time.Second {
		t.Errorf("the rollout of 10 pods by 3 took %v, want 4 rounds of 1s, the last drain within them", last)
	}
}

func TestServicesThatChurnNeedsArePreparedAndTheFirstIsLeftAlone(t *testing.T) {
	t.Parallel()
	m := newMesh(t, 10, 3)
	s := prepared(t, m, 10*time.Second,
		churn.Spec{Kind: "first-endpoint", Count: 2, For: seconds(5)},
		churn.Spec{Kind: "last-endpoint", Count: 2, For: seconds(5)},
		churn.Spec{Kind: "namespace-remove", Count: 1, For: seconds(5)})
	sizes := map[int]int{}
	for _, service := range m.Services {
		sizes[service.Endpoints()]++
	}
	if sizes[0]+sizes[1] == 0 || m.Services[0].Endpoints() != 3 {
		t.Errorf("sizes of services %v: want some empty ones, or with one endpoint", sizes)
	}
	if len(m.Namespaces) != 4 || len(s.Warnings) > 0 {
		t.Errorf("%d namespaces, warnings %v", len(m.Namespaces), s.Warnings)
	}
}

func TestConfigObjectsChangeWhatProxiesShow(t *testing.T) {
	t.Parallel()
	for _, kind := range mesh.ConfigKinds() {
		for _, what := range []string{"add", "update", "remove"} {
			m := newMesh(t, 20, 3)
			s := prepared(t, m, 10*time.Second, churn.Spec{Kind: string(kind) + "-" + what, Count: 3, For: seconds(8)})
			if s.Len() < 3 || len(s.Types()) == 0 || len(s.Warnings) > 0 {
				t.Errorf("%s-%s: %d writes, types %v, warnings %v", kind, what, s.Len(), s.Types(), s.Warnings)
			}
			if there := len(m.Configs) > 0; there != (what != "add") {
				t.Errorf("%s-%s: %d objects are there from the start", kind, what, len(m.Configs))
			}
			known := map[event.ResourceState]bool{}
			for _, r := range s.Baseline() {
				known[r.ResourceState] = true
			}
			for _, c := range m.Configs {
				for _, r := range c.States {
					if r.State != event.Absent && !known[r.ResourceState] {
						t.Errorf("%s-%s: %v is shown at the start, and is not in the baseline", kind, what, r.ResourceState)
					}
				}
			}
		}
	}
}

func TestFieldsThatMeanNothingAreRefused(t *testing.T) {
	t.Parallel()
	spec := churn.Spec{
		Kind: churn.PodAdd, Rate: 1, Count: 2, RateTo: 3, Rates: []rate.Rate{1}, N: 1, Every: seconds(1), On: seconds(1),
		Off: seconds(1), Jitter: 2, Size: 4, MaxSurge: 1, MaxUnavailable: 1, ReadyDelay: seconds(1), Start: seconds(-1),
	}
	var fields []string
	for line := range strings.Lines(spec.Validate().Error()) {
		field, _, _ := strings.Cut(line, ":")
		fields = append(fields, field)
	}
	for _, want := range []string{
		"count", "rateTo", "rates", "n", "every", "on", "off", "jitter", "size", "maxSurge", "maxUnavailable", "readyDelay", "start",
	} {
		if !slices.Contains(fields, want) {
			t.Errorf("%s is not refused: %v", want, fields)
		}
	}
}
