package collect

import (
	"slices"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/effect"
)

// proxyKind is what a shard keeps of the proxies of one kind.
type proxyKind struct {
	traffic [numPhases][numVariants][xds.NumTypes]result.Traffic
	// Of fleets of several kinds; the shard's own are those of one kind.
	latencies *samples // coarse
	again     *samples // times to ready of reconnects; nil before the first
}

// kindsOf numbers the kinds of proxies, and returns their names and each one's number.
func kindsOf(kinds []string, proxies int) (names []string, of []int) {
	of = make([]int, proxies)
	if len(kinds) == 0 {
		return []string{""}, of
	}
	names = slices.Compact(slices.Sorted(slices.Values(kinds)))
	for p, kind := range kinds {
		of[p], _ = slices.BinarySearch(names, kind)
	}
	return names, of
}

func newProxyKinds(n int) []proxyKind {
	kinds := make([]proxyKind, n)
	if n > 1 {
		for i := range kinds {
			kinds[i].latencies = newCoarse()
		}
	}
	return kinds
}

// byKind describes the proxies of each kind; nil if the kinds are not known.
func (b *builder) byKind() map[string]*effect.Proxies {
	if len(b.c.cfg.Kinds) == 0 {
		return nil
	}
	all := make(map[string]*effect.Proxies)
	for i, name := range b.c.kinds {
		k := &effect.Proxies{Volume: make(map[string]effect.Sent)}
		all[name] = k
		var latencies []*samples
		ready := newSamples(dense{coarseHistogram()})
		var again []*samples
		var config int64
		for _, s := range b.c.shards {
			latencies = append(latencies, s.ofKind(i))
			addVolume(k.Volume, &s.kinds[i])
			if s.kinds[i].again != nil {
				again = append(again, s.kinds[i].again)
			}
			for p := range s.proxies {
				px := &s.proxies[p]
				if px.kind != i {
					continue
				}
				k.Count++
				k.Deliveries += px.delivered
				k.Undelivered += px.undelivered
				if px.wasReady {
					k.Ready++
					config += px.configBytes
					_ = ready.RecordValue(int64(px.timeToReady)) // over an hour: no figure to keep
				}
			}
		}
		if k.Ready > 0 {
			k.ConfigBytes = float64(config) / float64(k.Ready)
		}
		if q := quantiles([]*samples{ready}, 0.5, 1); q != nil {
			k.TimeToReadyP50, k.TimeToReadyMax = &q[0], &q[1]
		}
		if q := quantiles(again, 0.5, 1); q != nil {
			k.ReadyAgainP50, k.ReadyAgainMax = &q[0], &q[1]
		}
		if q := quantiles(latencies, 0.5, 0.99, 1); q != nil {
			k.P50, k.P99, k.Max = &q[0], &q[1], &q[2]
		}
	}
	return all
}

// ofKind returns the latencies of the shard's proxies of a kind.
func (s *shard) ofKind(kind int) *samples {
	if len(s.kinds) > 1 {
		return s.kinds[kind].latencies
	}
	coarse := newCoarse()
	for p := range s.proxies {
		if px := &s.proxies[p]; px.latencies != nil {
			coarse.merge(px.latencies, px.longest)
		}
	}
	return coarse
}

func addVolume(to map[string]effect.Sent, k *proxyKind) {
	for v := range k.traffic[steadyPhase] {
		for t, n := range k.traffic[steadyPhase][v] {
			if n == (result.Traffic{}) {
				continue
			}
			name := xds.Type(t).String()
			to[name] = to[name].Plus(effect.Sent(n))
		}
	}
}
