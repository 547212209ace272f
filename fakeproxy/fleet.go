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
	// Addresses are the control plane's, HOST:PORT; proxies take them in turn.
	Addresses []string
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
	warden   *warden
	links    []*link
	proxies  []*proxy
	count    counters
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
	f := &Fleet{cfg: cfg, table: newTable(cfg.KeepBytes), warden: newWarden(cfg.Clock)}
	f.build(sources)
	return f, nil
}

func (f *Fleet) build(sources []netip.Addr) {
	root := f.table.root()
	per := f.cfg.Spec.StreamsPerConnection
	for i := range f.cfg.Spec.Count {
		if i%per == 0 {
			n := len(f.links)
			l := &link{target: f.cfg.Addresses[n%len(f.cfg.Addresses)], max: f.cfg.Spec.MaxReceiveBytes}
			l.meter.clock = f.cfg.Clock
			l.dialer.meter = &l.meter
			l.dialer.source = sources[n/len(f.cfg.Addresses)%len(sources)]
			f.links = append(f.links, l)
		}
		f.proxies = append(f.proxies, &proxy{
			fleet: f, index: i, id: f.cfg.Identities[i],
			dialect: dialectOf(f.cfg.Identities[i].Variant),
			link:    f.links[len(f.links)-1],
			rng:     rand.New(rand.NewPCG(f.cfg.Seed, uint64(i))),
			backoff: newBackoff(f.cfg.Spec.Reconnect),
			branches: [numBranches]*node{
				clusterBranch: root, listenerBranch: root,
			},
		})
	}
}

// Run connects the proxies at the set rate and keeps them connected. It
// returns when ctx has ended and every connection is closed.
func (f *Fleet) Run(ctx context.Context) error {
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
	n := p.branches[clusterBranch]
	p.mu.Unlock()
	return func(yield func(string, []uint64) bool) {
		for _, name := range n.names().names {
			var endpoints []uint64
			if it := n.children.find(name); it != nil {
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
