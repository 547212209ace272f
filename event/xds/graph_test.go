package xds_test

import (
	"slices"
	"testing"

	"github.com/xdsbench/xdsbench/event/xds"
)

func TestEachKnownTypeIsFoundByItsURL(t *testing.T) {
	t.Parallel()
	for typ := range xds.Type(xds.NumKnown) {
		if got := xds.TypeOfURL([]byte(typ.URL())); got != typ {
			t.Errorf("%s: %q is taken for %s", typ, typ.URL(), got)
		}
	}
	if got := xds.TypeOfURL([]byte("type.googleapis.com/envoy.service.runtime.v3.Runtime")); got != xds.OtherType {
		t.Errorf("an unknown URL is taken for %s", got)
	}
}

func TestParentsAndChildrenAgree(t *testing.T) {
	t.Parallel()
	for parent := range xds.Type(xds.NumKnown) {
		for child := range xds.Type(xds.NumKnown) {
			if slices.Contains(parent.Children(), child) != slices.Contains(child.Parents(), parent) {
				t.Errorf("%s and %s disagree on who names whom", parent, child)
			}
		}
	}
}
