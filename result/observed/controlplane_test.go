package observed_test

import (
	"testing"

	"github.com/xdsbench/xdsbench/result/observed"
)

func TestImbalanceIsTheMostOverTheMean(t *testing.T) {
	for _, test := range []struct {
		connections []int
		want        float64
	}{{[]int{50, 50}, 1}, {[]int{300, 0}, 2}, {[]int{0, 0}, 0}} {
		var c observed.ControlPlane
		for _, n := range test.connections {
			c.Replicas = append(c.Replicas, observed.Replica{ConnectionsAtEnd: n})
		}
		c.AddImbalance()
		if got := c.ConnectionImbalance; test.want == 0 && got != nil || test.want > 0 && (got == nil || *got != test.want) {
			t.Errorf("%v: %v, want %v", test.connections, got, test.want)
		}
	}
}
