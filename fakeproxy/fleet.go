package fakeproxy

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adsconn"
	"github.com/xdsbench/xdsbench/fakeproxy/node"
	"github.com/xdsbench/xdsbench/fakeproxy/resource"
	"github.com/xdsbench/xdsbench/internal/address"
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
	// Addresses are the control plane's, HOST:PORT or unix:/PATH. Connection attempts
	// take them in turn, or any one if Random.
	Addresses []string
	Random    bool
	// Identities are the proxies: Spec.Count of them, and then those that may join later.
	Identities []node.Identity
	Clock      event.Clock
	Sink       Sink
	Seed       uint64
	Log        *slog.Logger
	// KeepBytes keeps the content of resources for dumps.
	KeepBytes bool
	// Follow are the types other than EDS whose changes are in event.Response.States.
	Follow []xds.Type
}

// Fleet is a set of fake proxies.
type Fleet struct {
	cfg       Config
	table     *resource.Table
	responses resource.ResponsePool
	scratch   scratch
	transport *adsconn.Transport
	timers    *timers
	conns     []*adsconn.Conn
	proxies   []*proxy
	joins     chan *proxy // with room for all that may join
	balancer  *balancer
	count     counters
	// byAddress has an element per address.
	byAddress []addressCounters
}

// New prepares a fleet. It opens no connection.
func New(cfg Config) (*Fleet, error) {
	if err := cfg.Spec.Validate(); err != nil {
		return nil, err
	}
	if len(cfg.Identities) < cfg.Spec.Count {
		return nil, fmt.Errorf("%d identities for proxies.count %d: there must be one per proxy",
			len(cfg.Identities), cfg.Spec.Count)
	}
	if cfg.Sink == nil {
		return nil, errors.New("no sink for the fleet's events")
	}
	addresses, err := address.ParseList("address of the control plane", strings.Join(cfg.Addresses, ","))
	if err != nil {
		return nil, err
	}
	ever := cfg.Spec
	ever.Count = len(cfg.Identities)
	sources, err := sourcesFor(ever, addresses)
	if err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	f := &Fleet{
		cfg: cfg, table: resource.NewTable(cfg.KeepBytes, cfg.Follow...), scratch: newScratch(), timers: newTimers(cfg.Clock),
		balancer:  newBalancer(len(addresses), cfg.Random, cfg.Seed),
		byAddress: make([]addressCounters, len(addresses)), joins: make(chan *proxy, ever.Count-cfg.Spec.Count),
	}
	f.transport = adsconn.NewTransport(adsconn.Config{
		Clock: cfg.Clock, Addresses: addresses, Choose: f.balancer.pick, MaxReceiveBytes: cfg.Spec.MaxReceiveBytes,
		Lean: cfg.Spec.Transport == TransportLean, Shared: cfg.Spec.StreamsPerConnection > 1,
	})
	f.connections(sources, connectionsOf(ever))
	for i := range ever.Count {
		p, err := f.newProxy(i)
		if err != nil {
			return nil, err
		}
		f.proxies = append(f.proxies, p)
	}
	for _, i := range cfg.Spec.HalfOpen.Proxies(cfg.Seed, cfg.Spec.Count) {
		f.proxies[i].halfOpenFrom = cfg.Spec.HalfOpen.From
	}
	f.cfg.Identities = nil // each proxy has its own
	return f, nil
}

// connections makes the connections that the proxies will use.
func (f *Fleet) connections(sources []netip.Addr, count int) {
	spec, targets := f.cfg.Spec, len(f.cfg.Addresses)
	own := make([]adsconn.ConnConfig, count)
	for i := range own {
		own[i].Source = sources[i/targets%len(sources)]
	}
	for _, i := range spec.SlowRead.Proxies(f.cfg.Seed, spec.Count) {
		own[i].BytesPerSecond, own[i].Pause = spec.SlowRead.BytesPerSecond, spec.SlowRead.Pause.Duration
		own[i].SlowReads = &f.count.slowReads
		f.count.slowReaders.Add(1)
	}
	for _, i := range spec.HalfOpen.Proxies(f.cfg.Seed, spec.Count) {
		own[i].MayStop = true
	}
	for _, cfg := range own {
		f.conns = append(f.conns, f.transport.NewConn(cfg))
	}
}

func (f *Fleet) newProxy(i int) (*proxy, error) {
	id, seed, spec := f.cfg.Identities[i], f.cfg.Seed, f.cfg.Spec
	p := &proxy{
		fleet: f, index: i, id: id,
		dialect: dialectOf(id.Variant),
		conn:    f.conns[i/spec.StreamsPerConnection],
		rng:     rand.New(rand.NewPCG(seed, uint64(i))),
		nacks:   spec.Nack.Draws(seed, i),
		delays:  spec.ApplyDelay.Draws(seed, i),
		backoff: newBackoff(spec.Reconnect),
	}
	var err error
	if p.roots, err = id.RootTypes(); err != nil {
		return nil, err
	}
	if _, err = id.Encode(); err != nil {
		return nil, err
	}
	for t := range p.states {
		p.states[t] = f.table.Nothing()
	}
	return p, nil
}

// Run connects the proxies at the set rate and keeps them connected, or drops
// them as the spec says. It returns when ctx has ended and every connection is
// closed: within a few seconds, also where the control plane answers nothing.
func (f *Fleet) Run(ctx context.Context) {
	defer f.transport.Close()
	var wg sync.WaitGroup
	wg.Go(func() { f.timers.run(ctx) })
	interval := f.cfg.Spec.ConnectRate.Interval()
	start := time.Now()
	for i, p := range f.proxies[:f.cfg.Spec.Count] {
		if wait(ctx, time.Until(start.Add(time.Duration(i)*interval))) != nil {
			break
		}
		wg.Go(func() { p.run(ctx) })
	}
	wg.Go(func() { f.disrupt(ctx, f.cfg.Spec.Disconnects.Plan(f.cfg.Seed, f.cfg.Spec.Count)) })
	wg.Go(func() { f.disrupt(ctx, f.cfg.Spec.Storms.Plan(f.cfg.Seed, f.cfg.Spec.Count)) })
	f.admit(ctx, &wg)
	wg.Wait()
}

// Endpoints lists the EDS resources a proxy subscribes to, with the sorted
// hashes of the usable endpoints it holds: nil if nothing has arrived.
func (f *Fleet) Endpoints(proxy int) iter.Seq2[string, []uint64] {
	p := f.proxies[proxy]
	p.mu.Lock()
	of := p.states[xds.EDS]
	p.mu.Unlock()
	return func(yield func(string, []uint64) bool) {
		for _, name := range of.Names.Names {
			var endpoints []uint64
			if it := of.Held.Find(name); it != nil {
				endpoints = it.Body.Endpoints
			}
			if !yield(name, endpoints) {
				return
			}
		}
	}
}

// Followed lists what a proxy shows of the types in Config.Follow. A type of which
// something waits to arrive is listed as it is.
func (f *Fleet) Followed(proxy int) iter.Seq[event.ResourceState] {
	p := f.proxies[proxy]
	p.mu.Lock()
	states := p.states
	p.mu.Unlock()
	return func(yield func(event.ResourceState) bool) {
		for _, t := range f.cfg.Follow {
			for _, s := range states[t].Held.Shown(t) {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// WireBytes returns the bytes read from and written to all sockets so far.
func (f *Fleet) WireBytes() (in, out int64) {
	for _, c := range f.conns {
		read, written := c.Bytes()
		in, out = in+read, out+written
	}
	return in, out
}
