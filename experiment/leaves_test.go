package experiment_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/experiment"
)

func TestLeavesAreTheValuesByTheirPaths(t *testing.T) {
	got, err := experiment.Leaves([]byte(`{"a":{"b":[1e3,{"c":"x"}],"none":null},"d":true}`))
	want := map[string]string{"a.b[0]": "1e3", "a.b[1].c": "x", "d": "true"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if _, err := experiment.Leaves([]byte("{")); err == nil {
		t.Error("no error for half a document")
	}
}

func TestDifferencesNameTheSavedAndTheWantedValue(t *testing.T) {
	got := experiment.Differences(
		map[string]string{"same": "1", "b": "2", "gone": "3"},
		map[string]string{"same": "1", "b": "4", "added": "5"})
	want := []string{"added: (none), not 5", "b: 2, not 4", "gone: 3, not (none)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
