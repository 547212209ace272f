package event_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

func TestFingerprintDependsOnTheSetAndNotOnTheOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.SliceOfNDistinct(rapid.Uint64(), 1, 50, rapid.ID).Draw(t, "set")
		shuffled := rapid.Permutation(set).Draw(t, "shuffled")
		if event.FingerprintOf(set) != event.FingerprintOf(shuffled) {
			t.Fatal("the order changed the fingerprint")
		}
		removed := rapid.SampledFrom(set).Draw(t, "removed")
		rest := slices.DeleteFunc(slices.Clone(set), func(e uint64) bool { return e == removed })
		if event.FingerprintOf(set).Remove(removed) != event.FingerprintOf(rest) {
			t.Fatal("removing one is not the set without it")
		}
		if event.FingerprintOf(rest).Add(removed) != event.FingerprintOf(set) {
			t.Fatal("adding one is not the set with it")
		}
	})
}

func TestEndpointHashTellsAddressAndPortApart(t *testing.T) {
	t.Parallel()
	seen := map[uint64]string{}
	for _, address := range []string{"10.0.0.1", "10.0.0.11", "10.0.0.2", "fd00::1", ""} {
		for _, port := range []uint32{0, 80, 8080, 1 << 16} {
			h := event.EndpointHash(address, port)
			if other, ok := seen[h]; ok {
				t.Errorf("%s port %d has the hash of %s", address, port, other)
			}
			seen[h] = address
		}
	}
}

func TestClockGivesOneMonotonicBaseAndNeverTheZeroTime(t *testing.T) {
	t.Parallel()
	c := event.NewClock()
	first := c.Now()
	at := time.Now()
	second := c.Now()
	if first <= 0 || c.At(at) < first || second < c.At(at) {
		t.Errorf("stamps %d, %d, %d are not in order after the base", first, c.At(at), second)
	}
	if d := first.Add(time.Second).Sub(first); d != time.Second {
		t.Errorf("a second later is %s later", d)
	}
	if d := c.Wall(c.At(at)).Sub(at); d != 0 {
		t.Errorf("a time that was stamped and read back differs by %s", d)
	}
}

func TestNamesOfTypesAndVariants(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for i := range xds.NumTypes {
		names[xds.Type(i).String()] = true
	}
	if len(names) != xds.NumTypes || !names["cds"] || !names["ecds"] {
		t.Errorf("names of types: %v", names)
	}
	if xds.SotW.String() != "sotw" || xds.Delta.String() != "delta" {
		t.Error("names of variants")
	}
	if !(&event.Mutation{}).Noop() || (&event.Mutation{States: make([]event.Expected, 1)}).Noop() {
		t.Error("a mutation is no-op if and only if it changes no state")
	}
}
