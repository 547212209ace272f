package harness

import (
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/result"
)

// addMisbehaviour puts into the result what proxies did on purpose, if they did
// anything.
func addMisbehaviour(res *result.Result, counts fakeproxy.Counts) {
	for _, m := range []struct {
		name  string
		count int64
	}{
		{"nacksInjected", counts.NacksInjected},
		{"appliesDelayed", counts.AppliesDelayed},
		{"slowReaders", counts.SlowReaders},
		{"slowReads", counts.SlowReads},
		{"disconnectsInjected", counts.DisconnectsInjected},
		{"storms", counts.Storms},
		{"stormDisconnects", counts.StormDisconnects},
		{"disconnectsMissed", counts.DisconnectsMissed},
		{"halfOpen", counts.HalfOpen},
	} {
		if m.count == 0 {
			continue
		}
		if res.Proxies.Misbehaviour == nil {
			res.Proxies.Misbehaviour = make(map[string]int64)
		}
		res.Proxies.Misbehaviour[m.name] = m.count
	}
}
