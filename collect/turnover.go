package collect

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/result"
)

// maxPerPush bounds what histograms of mutations per push hold, and of pushes per proxy.
const maxPerPush = 100_000_000

// Joins says that a proxy beyond Config.Initial is to make its first attempt to connect.
// One that never joins owes nothing.
func (c *Collector) Joins(proxy int, at event.Time) {
	s := c.shardOf(proxy)
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proxy(proxy).joinedAt = at
}

// presence returns whether a proxy ever was of the fleet, and whether it has left it.
func (c *Collector) presence(proxy int) (ever, left bool) {
	s := c.shards[proxy/c.shardSize]
	s.mu.Lock()
	defer s.mu.Unlock()
	px := s.proxy(proxy)
	return proxy < c.cfg.Initial || px.joinedAt != 0, px.retired
}

// absent reports whether a proxy has left, or has not joined.
func (c *Collector) absent(proxy int) bool {
	ever, left := c.presence(proxy)
	return left || !ever
}

// countPushLocked counts a response by which mutations arrived at proxy p.
func (s *shard) countPushLocked(p int, mutations int64) {
	if mutations == 0 {
		return
	}
	s.proxy(p).pushes++
	_ = s.perPush.RecordValue(mutations) // far below the largest
}

// addTurnover counts the proxies that have joined and left.
func (b *builder) addTurnover(to *result.Proxies) {
	for p := range b.c.cfg.Proxies {
		ever, left := b.c.presence(p)
		if !ever {
			continue
		}
		to.Requested++
		to.ByVariant[b.c.cfg.Variants[p].String()]++
		if p >= b.c.cfg.Initial {
			to.Joined++
		}
		if left {
			to.Left++
		}
	}
}

// addPushes describes the responses by which mutations arrived.
func (b *builder) addPushes(to *result.Propagation) {
	seen := newPacked(1, maxPerPush)
	for _, s := range b.c.shards {
		for i := range s.proxies {
			if px := &s.proxies[i]; px.wasReady {
				_ = seen.RecordValue(px.pushes) // far below the largest
			}
		}
	}
	to.PushesPerProxy = b.distribution(hdrhistogram.New(1, maxPerPush, fleetDigits), 1, []*samples{seen})
	to.MutationsPerPush = b.distribution(hdrhistogram.New(1, maxPerPush, fleetDigits), 1, b.ofShards(func(s *shard) *samples { return s.perPush }))
}
