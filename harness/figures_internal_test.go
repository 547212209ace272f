package harness

import (
	"slices"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/churn"
)

func TestKindsHaveWindowsOfTheirOwnUnlessTwoOverlap(t *testing.T) {
	t.Parallel()
	schedule := func(steps ...churn.Step) *churn.Schedule { return &churn.Schedule{Steps: steps} }
	at := func(kind string, seconds int) churn.Step {
		return churn.Step{Kind: kind, Offset: time.Duration(seconds) * time.Second}
	}
	got := windowsOf(schedule(at("pod-add", 1), at("pod-add", 2), at("pod-delete", 4), at("pod-delete", 5)))
	want := []window{{"pod-add", time.Second, 2 * time.Second, true}, {"pod-delete", 4 * time.Second, 5 * time.Second, true}}
	if !slices.Equal(got, want) {
		t.Errorf("windows %v, want %v", got, want)
	}
	if got := windowsOf(schedule(at("pod-add", 1), at("pod-delete", 2), at("pod-add", 3))); got != nil {
		t.Errorf("windows %v of kinds that overlap", got)
	}
	got = windowsOf(schedule(at("pod-add", 1), at("pod-delete", 2), at("pod-add", 3), at("scale-up", 5)))
	if len(got) != 3 || got[0].own || got[1].own || !got[2].own {
		t.Errorf("windows %v, of which only the last kind's is its own", got)
	}
	if got := windowsOf(schedule(at("pod-add", 1), at("pod-add", 3))); got != nil {
		t.Errorf("windows %v of one kind, which the whole of steady load is", got)
	}
}
