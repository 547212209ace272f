package fakeproxy

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// Sink receives what happens to the proxies. Calls for one proxy come one at a
// time; calls for different proxies may come at once.
type Sink interface {
	// Response is called for each response, after it was answered. The sink may
	// keep neither r nor its slices.
	Response(r *event.Response)
	// Proxy is called for each change in a proxy's life. Subscriptions outlast
	// a stream: they are not reported again after a reconnect.
	Proxy(e *event.ProxyEvent)
}

// Config is what a Fleet needs.
type Config struct {
	Spec Spec
	// Addresses are the control plane's, HOST:PORT. Connection attempts take them in
	// turn, or any one if Random.
	Addresses []string
	Random    bool
	// Identities are the proxies; there must be Spec.Count of them.
	Identities []Identity
	Clock      event.Clock
	Sink       Sink
	Seed       uint64
	Log        *slog.Logger
	// KeepBytes keeps the content of resources for dumps.
	KeepBytes bool
}

// Fleet is a set of fake proxies.
type Fleet struct {
	cfg      Config
	table    *table
	messages messagePool
	scratch  scratch
	senders  *senders
	warden   *warden
	links    []*link
	proxies  []*proxy
	balancer *balancer
	count    counters
	// byAddress has an element per address.
	byAddress []addressCounters
}

// New prepares a fleet. It opens no connection.
func New(cfg Config) (*Fleet, error) {
	if err := cfg.Spec.Validate(); err != nil {
		return nil, err
	}
	if len(cfg.Identities) != cfg.Spec.Count {
		return nil, fmt.Errorf("%d identities for proxies.count %d: there must be one per proxy",
			len(cfg.Identities), cfg.Spec.Count)
	}
	if len(cfg.Addresses) == 0 {
		return nil, errors.New("no address of a control plane: give at least one HOST:PORT")
	}
	if cfg.Sink == nil {
		return nil, errors.New("no sink for the fleet's events")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	sources, err := sourcesFor(cfg.Spec, cfg.Addresses)
	if err != nil {
		return nil, err
	}
	f := &Fleet{cfg: cfg, table: newTable(cfg.KeepBytes), scratch: newScratch(), senders: newSenders(), warden: newWarden(cfg.Clock)}
	f.balancer = newBalancer(cfg.Addresses, cfg.Random, cfg.Seed)
	f.byAddress = make([]addressCounters, len(cfg.Addresses))
	if err := f.build(sources); err != nil {
		return nil, err
	}
	f.cfg.Identities = nil // each proxy has its own
	return f, nil
}

func (f *Fleet) build(sources []netip.Addr) error {
	spec := f.cfg.Spec
	per := spec.StreamsPerConnection
	for i := range spec.Count {
		if i%per == 0 {
			f.links = append(f.links, f.newLink(sources))
		}
		p, err := f.newProxy(i)
		if err != nil {
			return err
		}
		f.proxies = append(f.proxies, p)
	}
	for _, i := range chosen(generator(f.cfg.Seed, drawSlow, 0), spec.SlowRead.Share, spec.Count) {
		d := &f.links[i].dialer
		d.brakes, d.slow, d.held = true, spec.SlowRead, &f.count.slowReads
		f.count.slowReaders.Add(1)
	}
	for _, i := range chosen(generator(f.cfg.Seed, drawHalfOpen, 0), spec.HalfOpen.Share, spec.Count) {
		f.links[i].dialer.brakes, f.proxies[i].falls = true, spec.HalfOpen.From
	}
	return nil
}

func (f *Fleet) newLink(sources []netip.Addr) *link {
	n, targets := len(f.links), len(f.cfg.Addresses)
	l := &link{balancer: f.balancer, max: f.cfg.Spec.MaxReceiveBytes}
	l.meter.clock = f.cfg.Clock
	l.dialer.meter = &l.meter
	l.dialer.source = sources[n/targets%len(sources)]
	return l
}

// newProxy makes a proxy that uses the latest link.
func (f *Fleet) newProxy(i int) (*proxy, error) {
	id, seed, spec := f.cfg.Identities[i], f.cfg.Seed, f.cfg.Spec
	p := &proxy{
		fleet: f, index: i, id: id,
		dialect: dialectOf(id.Variant),
		link:    f.links[len(f.links)-1],
		rng:     rand.New(rand.NewPCG(seed, uint64(i))),
		backoff: newBackoff(spec.Reconnect),
	}
	var err error
	if p.roots, err = id.roots(); err != nil {
		return nil, err
	}
	if _, err = id.node(); err != nil {
		return nil, err
	}
	if spec.Nack.Rate > 0 {
		p.nacks = generator(seed, drawNacks, uint64(i))
	}
	if !spec.ApplyDelay.none() {
		p.delays = generator(seed, drawDelays, uint64(i))
	}
	for t := range p.nodes {
		p.nodes[t] = f.table.nothing()
	}
	return p, nil
}

// Run connects the proxies at the set rate and keeps them connected, or drops
// them as the spec says. It returns when ctx has ended and every connection is
// closed.
func (f *Fleet) Run(ctx context.Context) error {
	f.senders.ended = ctx.Done()
	defer f.senders.wg.Wait()
	var wg sync.WaitGroup
	wg.Go(func() { f.warden.run(ctx) })
	interval := f.cfg.Spec.ConnectRate.Interval()
	start := time.Now()
	for i, p := range f.proxies {
		if !sleep(ctx, time.Until(start.Add(time.Duration(i)*interval))) {
			break
		}
		wg.Go(func() { p.run(ctx) })
	}
	wg.Go(func() { f.disrupt(ctx, f.cfg.Spec.Disconnects.plan(f.cfg.Seed, len(f.proxies))) })
	wg.Go(func() { f.disrupt(ctx, f.cfg.Spec.Storms.plan(f.cfg.Seed, len(f.proxies))) })
	<-ctx.Done()
	wg.Wait()
	return nil
}

// Retire makes a proxy leave for good, as when its pod is deleted.
func (f *Fleet) Retire(proxy int) {
	f.proxies[proxy].leave()
}

// Endpoints lists the EDS resources a proxy subscribes to, with the sorted
// hashes of the usable endpoints it holds: nil if nothing has arrived.
func (f *Fleet) Endpoints(proxy int) iter.Seq2[string, []uint64] {
	p := f.proxies[proxy]
	p.mu.Lock()
	n := p.nodes[xds.EDS]
	p.mu.Unlock()
	return func(yield func(string, []uint64) bool) {
		for _, name := range n.names.names {
			var endpoints []uint64
			if it := n.held.find(name); it != nil {
				endpoints = it.body.endpoints
			}
			if !yield(name, endpoints) {
				return
			}
		}
	}
}

// WireBytes returns the bytes read from and written to all sockets so far.
func (f *Fleet) WireBytes() (in, out int64) {
	for _, l := range f.links {
		in += l.meter.in.Load()
		out += l.meter.out.Load()
	}
	return in, out
}
