package harness

import (
	"slices"
	"testing"

	"github.com/xdsbench/xdsbench/result/rows"
)

func TestProxiesMayBeBackBeforeTheReplicaIs(t *testing.T) {
	var a absences
	first := a.begin(at(10), true, []int{1})
	second := a.begin(at(11), false, []int{0})
	a.back(first, at(13))
	a.end(first, at(16), nil)
	if a.over() {
		t.Error("over while a replica is away")
	}
	a.end(second, at(14), nil)
	a.back(second, at(15))
	if !a.over() {
		t.Error("not over")
	}
	list := a.outages(0, true)
	if o := list[0]; !slices.Equal(o.Replicas, []int{1}) || *o.Seconds != 6 || *o.ProxiesAway != 3 || o.ReadyAgain != nil {
		t.Errorf("proxies back before the replica: %+v", o)
	}
	if o := list[1]; !slices.Equal(o.Replicas, []int{0}) || *o.Seconds != 3 || *o.ProxiesAway != 4 || *o.ReadyAgain != 1 {
		t.Errorf("proxies back after the replica: %+v", o)
	}
}

func TestSpanOfConnectionsIsThatOfSteadyLoadAndDrain(t *testing.T) {
	lines := []rows.Timeline{
		{Phase: string(PhaseConnect), Connections: []int{0, 900}},
		{Phase: string(PhaseSteady), Connections: []int{0, 3}},
		{Phase: string(PhaseDrain), Connections: []int{0, 12}},
	}
	if fewest, most := span(lines, 1, 5, 8); fewest != 3 || most != 12 {
		t.Errorf("from %d to %d, want 3 to 12", fewest, most)
	}
}
