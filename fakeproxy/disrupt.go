package fakeproxy

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/xdsbench/xdsbench/fakeproxy/misbehave"
)

// errOnPurpose is why a stream ended that the profile's disconnects or storms
// broke.
var errOnPurpose = errors.New("disconnected on purpose by the profile's proxies.disconnects or proxies.storms")

// disrupt carries out a plan until ctx ends.
func (f *Fleet) disrupt(ctx context.Context, plan iter.Seq[misbehave.Disruption]) {
	start := time.Now()
	for d := range plan {
		if wait(ctx, time.Until(start.Add(d.At))) != nil {
			return
		}
		c := &f.count
		if d.Storm {
			c.storms.Add(1)
		}
		for _, i := range d.Proxies {
			switch {
			case !f.proxies[i].disconnect():
				c.missed.Add(1)
			case d.Storm:
				c.stormed.Add(1)
			default:
				c.dropped.Add(1)
			}
		}
	}
}

// disconnect breaks the proxy's stream, and reports whether there was one.
func (p *proxy) disconnect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream == nil {
		return false
	}
	p.stream.Break(errOnPurpose)
	return true
}
