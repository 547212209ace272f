package node_test

import (
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/fakeproxy/node"
)

func TestKindsHaveTheirShareOfTheFirstProxies(t *testing.T) {
	t.Parallel()
	shares := node.Shares{"sidecar": 8, "router": 1, "waypoint": 1}
	counts := map[string]int{}
	for i, kind := range shares.Of(1000) {
		counts[kind]++
		if n := i + 1; n%10 == 0 && (counts["sidecar"] != n*8/10 || counts["router"] != n/10) {
			t.Fatalf("of the first %d: %v", n, counts)
		}
	}
}

func TestFleetWithoutKindsIsOfSidecars(t *testing.T) {
	t.Parallel()
	for _, kind := range node.Shares(nil).Of(3) {
		if kind != node.Sidecar {
			t.Errorf("kind %q", kind)
		}
	}
}

func TestImpossibleKindsAreNamed(t *testing.T) {
	t.Parallel()
	for want, shares := range map[string]node.Shares{
		`proxies.kinds: "gateway"`: {"gateway": 1},
		"proxies.kinds.router: -1": {"router": -1},
		"at least one share":       {"router": 0},
	} {
		if err := shares.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", shares, err)
		}
	}
}
