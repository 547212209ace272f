package harness

import (
	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/fakeproxy"
)

// addMisbehaviour puts into the result what proxies did on purpose, if they did
// anything.
func addMisbehaviour(result *collect.Result, counts fakeproxy.Counts) {
	for _, m := range []struct {
		name  string
		count int64
	}{
		{"nacksInjected", counts.NacksInjected},
	} {
		if m.count == 0 {
			continue
		}
		if result.Proxies.Misbehaviour == nil {
			result.Proxies.Misbehaviour = make(map[string]int64)
		}
		result.Proxies.Misbehaviour[m.name] = m.count
	}
}
