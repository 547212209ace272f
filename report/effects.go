package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/units"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/effect"
	"github.com/xdsbench/xdsbench/result/observed"
)

// effects say what each kind of change caused.
func effects(t *doc.Table, m *result.Mutations) {
	if m == nil {
		return
	}
	t.Left("kind of change").Right("writes").Left("types", "full pushes").
		Right("proxies", "responses", "resources", "bytes", "amplification", "p50", "last proxy", "CPU each, net", "allocated each, net")
	for _, kind := range slices.Sorted(maps.Keys(m.Effects)) {
		k := m.Effects[kind]
		sum := k.Total()
		cpu, allocated := costEach(k)
		t.Row(kind, units.Count(k.Applied), strings.Join(slices.Sorted(maps.Keys(k.Types)), " "), share(k),
			units.Count(k.ProxiesReached), units.Count(sum.Responses), units.Count(sum.Resources), units.Bytes(sum.Bytes),
			optional(k.Amplification, ""), optional(k.P50, "s"), optional(k.Last, "s"), cpu, allocated)
	}
}

// share writes how many of the changes that were pushed were full.
func share(k *effect.Kind) string {
	if len(k.Types) == 0 {
		return ""
	}
	return units.Percent(k.FullShare)
}

// costEach writes what one operation cost, where the kind had a window of its own.
func costEach(k *effect.Kind) (cpu, allocated string) {
	if k.Cost == nil || k.Operations == 0 {
		return "", ""
	}
	each := func(n *float64, unit string) string {
		if n == nil {
			return ""
		}
		return units.Amount(*n/float64(k.Operations), unit)
	}
	return each(k.Cost.NetCPUSeconds, "s"), each(k.Cost.NetAllocatedBytes, "bytes")
}

func optional(n *float64, unit string) string {
	if n == nil {
		return ""
	}
	return units.Amount(*n, unit)
}

// proxyKinds compares kinds of proxy, if there are several.
func proxyKinds(t *doc.Table, p *result.Proxies) {
	if p == nil || len(p.ByKind) < 2 {
		return
	}
	t.Left("proxies").Right("count", "ready", "ready p50", "again p50", "again max", "config each", "responses", "bytes", "deliveries", "undelivered", "p50", "p99", "max")
	for _, kind := range slices.Sorted(maps.Keys(p.ByKind)) {
		k := p.ByKind[kind]
		var sum effect.Sent
		for _, s := range k.Volume {
			sum = sum.Plus(s)
		}
		t.Row(kind, units.Count(k.Count), units.Count(k.Ready), optional(k.TimeToReadyP50, "s"), optional(k.ReadyAgainP50, "s"), optional(k.ReadyAgainMax, "s"), units.Bytes(k.ConfigBytes),
			units.Count(sum.Responses), units.Bytes(sum.Bytes), units.Count(k.Deliveries), units.Count(k.Undelivered),
			optional(k.P50, "s"), optional(k.P99, "s"), optional(k.Max, "s"))
	}
}

// idle writes what the control plane used with nothing changing, and what load cost
// beyond that.
func idle(c *observed.ControlPlane) string {
	if c == nil || c.Idle == nil {
		return ""
	}
	parts := []string{units.Number(c.Idle.Cores) + " cores"}
	if n := c.Idle.AllocatedBytesPerSecond; n != nil {
		parts = append(parts, units.Bytes(*n)+"/s allocated")
	}
	if n := c.Idle.PushesPerSecond; n != nil {
		parts = append(parts, units.Number(*n)+" pushes/s")
	}
	text := strings.Join(parts, ", ") + " with nothing changing"
	s := c.Steady
	if s == nil || s.NetCPUPerMutation == nil {
		return text
	}
	text += "; beyond that each mutation cost " + units.Duration(*s.NetCPUPerMutation) + " of CPU"
	if n := s.NetAllocatedPerMutation; n != nil {
		text += " and " + units.Bytes(*n) + " of allocations"
	}
	return text
}

// cache writes how well the control plane's cache served it.
func cache(c *observed.ControlPlane) string {
	if c == nil || c.Signals == nil {
		return ""
	}
	var hits, misses, evictions float64
	for series, n := range c.Signals.Traffic {
		switch {
		case !strings.HasPrefix(series, "xds_cache_"):
		case strings.Contains(series, "evictions"):
			evictions += n
		case strings.Contains(series, `"hit"`):
			hits += n
		case strings.Contains(series, `"miss"`):
			misses += n
		}
	}
	if hits+misses == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s reads hit, %s evictions", units.Percent(hits/(hits+misses)), units.Count(int64(hits+misses)), units.Count(int64(evictions)))
}
