package churn_test

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/churn"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

func TestAnnouncedPodsAreMutationsOfTheirWorkloads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, 3, 4)
		client := seeded(t, m)
		s := plan(t, m, 10*time.Second, churn.Spec{Kind: churn.PodDelete, Rate: 4}, churn.Spec{Kind: churn.PodAdd, Rate: 1})
		slices := s.Len()
		to := &event.Audience{Kinds: []string{"ztunnel"}}
		s.AnnouncePods(to)
		state := map[string]event.Fingerprint{}
		for _, b := range s.Baseline() {
			if b.Type == xds.Workload && b.Audience == to {
				state[b.Name] = b.State
			}
		}
		sink := &recorder{}
		stats, err := run(t.Context(), client, m, s, sink)
		if err != nil {
			t.Fatal(err)
		}
		if pods := len(s.Joins()) + len(s.Leaves()); s.Len() != slices+pods || stats.Issued != s.Len() || len(sink.ended) != s.Len() {
			t.Errorf("%d of %d mutations issued, %d ended: want %d slices and %d pods", stats.Issued, s.Len(), len(sink.ended), slices, pods)
		}
		seen := map[uint64]bool{}
		for _, got := range sink.ended {
			if seen[got.Seq] || got.Issued < got.Scheduled {
				t.Errorf("mutation %+v: seen before, or early", got)
			}
			seen[got.Seq] = true
			for _, x := range got.States {
				if x.Type == xds.Workload {
					if x.Audience != to || state[x.Name] == x.State {
						t.Errorf("%s: %+v again, or to somebody else", got.Step, x)
					}
					state[x.Name] = x.State
				}
			}
		}
		pods, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		for _, pod := range pods.Items {
			there["Kubernetes//Pod/"+pod.Namespace+"/"+pod.Name] = true
		}
		for name, last := range state {
			if (last == event.Present) != there[name] {
				t.Errorf("%s: %v announced last, there: %t", name, last, there[name])
			}
		}
	})
}
