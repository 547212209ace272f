package observe

import (
	"strings"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// The control plane's reads of its cache of generated resources, by the label "type",
// which is "hit" or "miss"; and what it dropped from it. istiod counts them if
// PILOT_XDS_CACHE_STATS is on.
const (
	cacheReads     = "xds_cache_reads"
	cacheEvictions = "xds_cache_evictions"
	allocated      = "go_memstats_alloc_bytes_total"
)

// Figures are what a control plane has used and done since its start, as far as it
// tells; nil is what it does not.
type Figures struct {
	Allocated, Pushes, CacheHits, CacheMisses *float64
}

// Figures reads them from a scrape.
func (s Scrape) Figures() Figures {
	var f Figures
	if n, ok := s.Sum(allocated); ok {
		f.Allocated = &n
	}
	if n, ok := s.Pushes(); ok {
		f.Pushes = &n
	}
	for _, m := range s[cacheReads].GetMetric() {
		n := m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
		for _, l := range m.GetLabel() {
			switch l.GetValue() {
			case "hit":
				f.CacheHits = plus(f.CacheHits, n)
			case "miss":
				f.CacheMisses = plus(f.CacheMisses, n)
			}
		}
	}
	return f
}

// Plus adds up those of several replicas.
func (f Figures) Plus(o Figures) Figures {
	return Figures{join(f.Allocated, o.Allocated), join(f.Pushes, o.Pushes), join(f.CacheHits, o.CacheHits), join(f.CacheMisses, o.CacheMisses)}
}

// Minus is what they gained since o. What either lacks is absent, but counts of the
// cache, which appear with the first read.
func (f Figures) Minus(o Figures) Figures {
	since := func(now, then *float64, late bool) *float64 {
		switch {
		case now == nil || then == nil && !late:
			return nil
		case then == nil:
			return now
		case *now < *then: // restarted meanwhile
			return nil
		}
		return new(*now - *then)
	}
	return Figures{
		since(f.Allocated, o.Allocated, false), since(f.Pushes, o.Pushes, true),
		since(f.CacheHits, o.CacheHits, true), since(f.CacheMisses, o.CacheMisses, true),
	}
}

func plus(sum *float64, n float64) *float64 {
	if sum != nil {
		n += *sum
	}
	return &n
}

func join(a, b *float64) *float64 {
	if b == nil {
		return a
	}
	return plus(a, *b)
}

// AddCost works out what steady load cost apart from idle, per mutation and per push.
// ControlPlane must be set.
func AddCost(r *result.Result) {
	c := r.ControlPlane
	if c.Steady == nil {
		return
	}
	s := c.Steady
	if c.Metrics != nil && !c.Metrics.Restarted {
		if n, ok := c.Metrics.Counters[allocated]; ok {
			s.AllocatedBytes = &n
		}
	}
	s.AddNet(c.Idle)
	if m := r.Mutations; m != nil && m.Applied > 0 {
		s.NetCPUPerMutation, s.NetAllocatedPerMutation = over(s.NetCPUSeconds, m.Applied), over(s.NetAllocatedBytes, m.Applied)
	}
	if w := c.Work; w != nil && w.Pushes != nil && *w.Pushes > 0 {
		s.CPUPerPush, s.NetCPUPerPush = over(&s.CPUSeconds, int(*w.Pushes)), over(s.NetCPUSeconds, int(*w.Pushes))
	}
}

func over(n *float64, by int) *float64 {
	if n == nil {
		return nil
	}
	return new(*n / float64(by))
}

// addCache puts the cache's counts among the signals.
func addCache(s *observed.Signals, m *observed.Metrics) {
	for series, n := range m.Counters {
		if family, _, _ := strings.Cut(series, "{"); family == cacheReads || family == cacheEvictions {
			s.Traffic[series] = n
		}
	}
}
