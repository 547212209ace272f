package event_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/event"
)

func TestMarksAreFoundInWhatAControlPlaneMadeOfThem(t *testing.T) {
	t.Parallel()
	content := "\x0a\x12/" + event.Mark("vs-svc-3", 17) + "\x00x" + event.Mark("vs-svc-3", 17) + event.Mark("a", 0) + "xbmark.A.1.x xbmark..1.x"
	type mark struct {
		ID         string
		Generation int
	}
	var got []mark
	for id, n := range event.Marks([]byte(content)) {
		got = append(got, mark{id, n})
	}
	if diff := cmp.Diff([]mark{{"vs-svc-3", 17}, {"vs-svc-3", 17}, {"a", 0}}, got); diff != "" {
		t.Errorf("marks found (-want +got):\n%s", diff)
	}
	for range event.Marks([]byte("nothing")) {
		t.Error("a mark in nothing")
	}
}

func TestAConnectTimeoutTellsAGeneration(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 12345} {
		if got, ok := event.OfMarkTimeout(event.MarkTimeout(n)); !ok || got != n {
			t.Errorf("generation %d is read as %d, %v", n, got, ok)
		}
	}
	if _, ok := event.OfMarkTimeout(10 * time.Second); ok {
		t.Error("10s is taken for a mark")
	}
	if s := event.MarkState(1); s == event.Absent || s == event.Present || s == event.MarkState(2) {
		t.Errorf("state of generation 1: %v", s)
	}
}
