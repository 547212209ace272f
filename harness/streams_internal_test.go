package harness

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// fleetOf returns the streams of a run's end, at 100 s: of proxies that were due at 10 s,
// with alternating variants, all answered last at 50 s by the one replica.
func fleetOf(proxies int) *streams {
	a := &streams{now: at(100), replicas: []bool{false}, visible: func(event.Time, event.Time) int { return 0 }}
	for i := range proxies {
		a.proxies = append(a.proxies, stream{variant: xds.Variant(i % 2), open: true, due: at(10), last: at(50)})
	}
	return a
}

// mutations has one visible mutation a second, from a time to another.
func mutations(first, last float64) func(after, until event.Time) int {
	return func(after, until event.Time) (n int) {
		for s := first; s <= last; s++ {
			if at(s) > after && at(s) <= until {
				n++
			}
		}
		return n
	}
}

func (a *streams) found() []silence { return slices.Concat(a.neverAnswered(), a.fellSilent()) }

func TestSilentControlPlaneIsNamedWithWhatItOwes(t *testing.T) {
	t.Parallel()
	a := fleetOf(20)
	a.visible, a.replicas[0] = mutations(30, 70), true
	for i := range a.proxies {
		a.proxies[i].pending = 20
	}
	want := silence{"control plane", at(50), "20 streams open, 0 responses, 20 mutations, /metrics timed out"}
	if found := a.found(); !slices.Equal(found, []silence{want}) {
		t.Errorf("found %+v, want %+v", found, want)
	}
}

func TestNobodyIsCalledSilentWithoutReasonToAnswer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*streams){
		"nothing was pending":        func(a *streams) { a.proxies[0].pending = 0 },
		"only no-op mutations":       func(a *streams) { a.visible = mutations(1, 0) },
		"no mutation after":          func(a *streams) { a.visible = mutations(30, 50) },
		"the last two may be lost":   func(a *streams) { a.visible = mutations(30, 52) },
		"mutations of just now":      func(a *streams) { a.visible = mutations(98, 200) },
		"no stream is open":          func(a *streams) { a.proxies[0].open, a.proxies[1].open = false, false },
		"another proxy was answered": func(a *streams) { a.proxies[2].last, a.proxies[3].last = at(99), at(99) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := fleetOf(4)
			a.visible = mutations(30, 70)
			a.proxies[0].pending = 1
			if len(a.found()) == 0 {
				t.Fatal("the control plane is not silent to begin with")
			}
			change(a)
			if name == "no stream is open" {
				a.proxies = a.proxies[:2]
			}
			if found := a.found(); len(found) > 0 {
				t.Errorf("found %+v", found)
			}
		})
	}
}

func TestPendingPairsOfAnInterruptedRunAreReasonToAnswer(t *testing.T) {
	t.Parallel()
	a := fleetOf(4)
	a.visible, a.pending = mutations(30, 70), 1
	if found := a.found(); len(found) != 1 {
		t.Errorf("found %+v", found)
	}
}

func TestOneSilentReplicaIsNamedAmongSeveral(t *testing.T) {
	t.Parallel()
	a := fleetOf(6)
	a.replicas, a.visible = []bool{false, false}, mutations(30, 90)
	for i := range a.proxies {
		if a.proxies[i].replica = i / 3; i >= 3 {
			a.proxies[i].pending = 9
		} else {
			a.proxies[i].last = at(91)
		}
	}
	if found := a.found(); len(found) != 1 || found[0].who != "replica 1" || !strings.HasPrefix(found[0].detail, "3 streams open") {
		t.Errorf("found %+v", found)
	}
}

func TestOneSilentVariantIsNamed(t *testing.T) {
	t.Parallel()
	a := fleetOf(6)
	a.visible = mutations(30, 90)
	for i := range a.proxies {
		if a.proxies[i].variant == xds.SotW {
			a.proxies[i].last = at(91)
		}
		a.proxies[i].pending = 1
	}
	if found := a.found(); len(found) != 1 || found[0].who != "control plane (Delta streams)" || found[0].from != at(50) {
		t.Errorf("found %+v", found)
	}
}

func TestTypeThatIsNeverAnsweredIsNamedByVariant(t *testing.T) {
	t.Parallel()
	a := fleetOf(6)
	for i := range a.proxies {
		if a.proxies[i].variant == xds.SotW {
			a.proxies[i].missing = []xds.Type{xds.CDS}
		}
	}
	a.proxies[5].missing = []xds.Type{xds.RDS}
	want := []silence{
		{"control plane (cds for SotW proxies)", at(10), "cds was never answered for 3 of 3 SotW proxies"},
		{"control plane (rds for Delta proxies)", at(10), "rds was never answered for 1 of 3 Delta proxies"},
	}
	if found := a.found(); !slices.Equal(found, want) {
		t.Errorf("found %+v, want %+v", found, want)
	}
	for i := range a.proxies {
		a.proxies[i].due = a.now.Add(-firstAnswerAfter / 2)
	}
	if found := a.found(); len(found) > 0 {
		t.Errorf("of proxies that have only just connected: %+v", found)
	}
}

func TestControlPlaneThatNeverAnsweredIsNamedOnce(t *testing.T) {
	t.Parallel()
	a := fleetOf(4)
	for i := range a.proxies {
		a.proxies[i].last, a.proxies[i].open, a.proxies[i].replica = 0, i > 0, -1
		a.proxies[i].missing = []xds.Type{xds.CDS, xds.LDS}
	}
	want := silence{"control plane", at(10), "4 of 4 proxies wait for a first response, 3 streams open"}
	if found := a.found(); !slices.Equal(found, []silence{want}) {
		t.Errorf("found %+v, want %+v", found, want)
	}
}

func TestControlPlaneThatRefusesIsNotSilent(t *testing.T) {
	t.Parallel()
	a := fleetOf(4)
	for i := range a.proxies {
		a.proxies[i] = stream{replica: -1, due: at(10), refused: true}
	}
	if found := a.found(); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
}

func TestReplicaThatTakesNoStreamIsNoticed(t *testing.T) {
	t.Parallel()
	a := fleetOf(4)
	a.replicas = []bool{false, false}
	a.proxies[2] = stream{variant: xds.SotW, replica: -1, due: at(10)}
	if found := a.found(); len(found) != 1 || !strings.HasPrefix(found[0].detail, "1 of 2 SotW proxies wait for a first response") {
		t.Errorf("found %+v", found)
	}
}
