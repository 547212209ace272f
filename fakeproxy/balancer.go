package fakeproxy

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// balancer chooses an address of the control plane for each connection attempt, as
// a Kubernetes Service does for new connections: one that exists stays where it is.
type balancer struct {
	addresses int // how many there are
	random    bool

	mu        sync.Mutex // guards all below
	rng       *rand.Rand
	round     []int  // the addresses whose turn is still to come
	withdrawn []bool // by address
}

// drawAddresses sets this draw from the seed apart from those of package misbehave.
const drawAddresses = 1<<32 + 6

func newBalancer(addresses int, random bool, seed uint64) *balancer {
	return &balancer{
		addresses: addresses, random: random, rng: rand.New(rand.NewPCG(seed^drawAddresses<<16, 0)),
		withdrawn: make([]bool, addresses),
	}
}

// pick returns the index of the address to try: any at random, or each once before
// any twice. The order of each round is drawn, or the replicas would get different
// proxies where variants or kinds alternate. With all withdrawn it is any of them:
// the attempt fails, as one to a Service without endpoints does.
func (b *balancer) pick() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.random {
		b.round = nil
	}
	b.round = slices.DeleteFunc(b.round, func(i int) bool { return b.withdrawn[i] })
	if len(b.round) == 0 {
		b.round = b.shuffled()
	}
	chosen := b.round[0]
	b.round = b.round[1:]
	return chosen
}

// shuffled returns the addresses that are not withdrawn, or all if all are, in an
// order drawn anew. Needs mu.
func (b *balancer) shuffled() []int {
	order := b.rng.Perm(b.addresses)
	if !slices.Contains(b.withdrawn, false) {
		return order
	}
	return slices.DeleteFunc(order, func(i int) bool { return b.withdrawn[i] })
}

// offer sets whether an address is chosen.
func (b *balancer) offer(address int, offered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.withdrawn[address] = !offered
}

// Offer sets whether new connections may go to the address at an index of
// Config.Addresses; at first they may go to all. Connections that exist stay.
func (f *Fleet) Offer(address int, offered bool) { f.balancer.offer(address, offered) }

// AddressCounts is what went by one of the control plane's addresses.
type AddressCounts struct {
	// Connected is how many proxies are connected to it now; the rest are totals.
	Connected int64
	// Responses are by event.Type.
	Responses    []int64
	Nacks        int64
	Disconnected int64
}

// addressCounters are its counters.
type addressCounters struct {
	connected, nacks, disconnected atomic.Int64
	responses                      [xds.NumTypes]atomic.Int64
}

// ByAddress returns the present counts per address, in the order of
// Config.Addresses.
func (f *Fleet) ByAddress() []AddressCounts {
	all := make([]AddressCounts, len(f.byAddress))
	for i := range f.byAddress {
		c := &f.byAddress[i]
		all[i] = AddressCounts{Connected: c.connected.Load(), Nacks: c.nacks.Load(), Disconnected: c.disconnected.Load()}
		for t := range c.responses {
			all[i].Responses = append(all[i].Responses, c.responses[t].Load())
		}
	}
	return all
}

// addConnected moves the counts of connected proxies by n. Needs mu.
func (p *proxy) addConnected(n int64) {
	p.fleet.count.connected.Add(n)
	p.fleet.byAddress[p.address].connected.Add(n)
}

// countResponse counts a response that the proxy has answered.
func (p *proxy) countResponse(r *event.Response) {
	p.fleet.count.responses.Add(1)
	if r.Socket == 0 {
		p.fleet.count.unstamped.Add(1)
	}
	c := &p.fleet.byAddress[p.address]
	c.responses[r.Type].Add(1)
	if r.Nacked {
		c.nacks.Add(1)
	}
}
