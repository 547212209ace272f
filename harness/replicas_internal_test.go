package harness

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result/observed"
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

func TestCountsOfAReplicaAreComparedWithItsOwn(t *testing.T) {
	m := &observed.Metrics{
		Gauges:   map[string]float64{`pilot_xds{version="1"}`: 4},
		Counters: map[string]float64{`pilot_xds_pushes{type="eds"}`: 12, `pilot_xds_pushes{type="cds_senderr"}`: 1, `pilot_total_xds_rejects{type="eds"}`: 2},
	}
	for name, test := range map[string]struct {
		connected, eds, nacks, broken int64
		want                          string
	}{
		"equal":                 {4, 12, 2, 0, ""},
		"another connection":    {5, 12, 2, 0, "connected proxies: 5 by our count, 4 by its pilot_xds"},
		"responses lost":        {4, 10, 2, 1, `eds responses: 10 by our count, 12 by its pilot_xds_pushes{type="eds"}`},
		"lost as streams broke": {4, 10, 2, 3, "(3 streams broke"},
		"NACKs not counted":     {4, 12, 3, 0, "NACKs: 3 by our count, 2 by its"},
	} {
		ours := replicaCounts{connected: test.connected, nacks: test.nacks, broken: test.broken}
		ours.responses[xds.EDS] = test.eds
		text := strings.Join(append(compareTraffic(m, ours), compareNACKs(m, ours)...), "\n")
		if (text == "") != (test.want == "") || !strings.Contains(text, test.want) {
			t.Errorf("%s: %q, want %q", name, text, test.want)
		}
	}
	if n := pushes(m); n == nil || *n != 12 {
		t.Errorf("pushes %v, want 12: failed ones are none", n)
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
