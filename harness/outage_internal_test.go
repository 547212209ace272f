package harness

import (
	"maps"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/result"
)

func at(seconds float64) event.Time { return event.Time(seconds * float64(time.Second)) }

func TestAbsencesAreOverWhenTheProxiesAreBack(t *testing.T) {
	var a absences
	if !a.over() {
		t.Error("not over with nothing planned")
	}
	a.plan()
	if a.over() {
		t.Error("over before the planned outage")
	}
	first := a.begin(at(12), true, []int{0})
	a.end(first, at(15), &result.Drift{StaleEndpoints: 3})
	if a.over() {
		t.Error("over before the proxies are back")
	}
	a.back(first, at(19))
	if !a.over() {
		t.Error("not over")
	}
	a.begin(at(20), false, []int{0})
	a.giveUp()
	if !a.over() {
		t.Error("a run would wait for a target that does not come back")
	}
	list := a.outages(at(10), false)
	if len(list) != 2 || list[0].At != 2 || !list[0].Planned || *list[0].Seconds != 3 || *list[0].ReadyAgain != 4 || list[0].Held.StaleEndpoints != 3 {
		t.Errorf("outages: %+v", list)
	}
	if list[1].At != 10 || list[1].Planned || list[1].Seconds != nil || list[1].ReadyAgain != nil {
		t.Errorf("outage without an end: %+v", list[1])
	}
}

// The drift in an outage is counted from the API server's slices, that at the
// end from the model: both must mean the same.
func TestEndpointsUsableByTheSlicesAreThoseOfTheModel(t *testing.T) {
	spec := mesh.DefaultSpec()
	spec.Services, spec.EndpointsPerService, spec.Ports, spec.Headless = 4, 130, 2, 0.25
	m, err := mesh.New(mesh.Config{Spec: spec, Proxies: 3, Seed: 1, RunID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range m.Services {
		if _, err := s.Set(mesh.Terminating, s.Ready()[0], s.Ready()[1]); err != nil {
			t.Fatal(err)
		}
	}
	r := &run{clusterNames: clusterNamesOf(m.All())}
	got, want := map[string][]uint64{}, map[string][]uint64{}
	for s := range m.All() {
		for _, slice := range s.Slices() {
			r.addUsable(got, slice)
		}
		maps.Copy(want, s.Usable())
	}
	for name, hashes := range want {
		if len(got[name]) != len(hashes) || event.FingerprintOf(got[name]) != event.FingerprintOf(hashes) {
			t.Errorf("%s: %d endpoints by the slices, %d by the model", name, len(got[name]), len(hashes))
		}
		delete(got, name)
	}
	for name, hashes := range got {
		t.Errorf("%s: %d endpoints by the slices, no such cluster in the model", name, len(hashes))
	}
}
