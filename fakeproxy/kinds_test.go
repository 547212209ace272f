package fakeproxy_test

import (
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/fakeproxy"
)

func TestKindsHaveTheirShareOfTheFirstProxies(t *testing.T) {
	shares := fakeproxy.KindShares{"sidecar": 8, "router": 1, "waypoint": 1}
	counts := map[string]int{}
	for i, kind := range shares.Of(1000) {
		counts[kind]++
		if n := i + 1; n%10 == 0 && (counts["sidecar"] != n*8/10 || counts["router"] != n/10) {
			t.Fatalf("of the first %d: %v", n, counts)
		}
	}
}

func TestFleetWithoutKindsIsOfSidecars(t *testing.T) {
	for _, kind := range fakeproxy.KindShares(nil).Of(3) {
		if kind != fakeproxy.KindSidecar {
			t.Errorf("kind %q", kind)
		}
	}
}

func TestSpecWithImpossibleKindsNamesThem(t *testing.T) {
	spec := fakeproxy.DefaultSpec()
	for want, shares := range map[string]fakeproxy.KindShares{
		`proxies.kinds: "gateway"`: {"gateway": 1},
		"proxies.kinds.router: -1": {"router": -1},
		"at least one share":       {"router": 0},
	} {
		spec.Kinds = shares
		if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", shares, err)
		}
	}
}
