package fakeproxy_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/fakeproxy/adstest"
	"github.com/xdsbench/xdsbench/fakeproxy/node"
)

// recorder is a Sink that keeps all it is told.
type recorder struct {
	mu        sync.Mutex
	responses []event.Response
	events    []event.ProxyEvent
}

func (r *recorder) Response(e *event.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := *e
	c.States = slices.Clone(e.States)
	r.responses = append(r.responses, c)
}

func (r *recorder) Proxy(e *event.ProxyEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := *e
	c.Clusters = slices.Clone(e.Clusters)
	r.events = append(r.events, c)
}

// kinds lists what happened to the proxies, in order.
func (r *recorder) kinds() []event.ProxyEventKind {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kinds []event.ProxyEventKind
	for _, e := range r.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func (r *recorder) all() []event.Response {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.responses)
}

// fleet is a fleet under test.
type fleet struct {
	*fakeproxy.Fleet
	sink *recorder
	stop func()
}

// option changes the config of a fleet under test.
type option func(*fakeproxy.Config)

// over has a fleet use a transport.
func over(transport string) option {
	return func(c *fakeproxy.Config) { c.Spec.Transport = transport }
}

func fetchTimeout(d time.Duration) option {
	return func(c *fakeproxy.Config) { c.Spec.InitialFetchTimeout = metav1.Duration{Duration: d} }
}

// config is for n proxies of a variant, which reconnect quickly.
func config(addr string, v xds.Variant, n int, opts ...option) fakeproxy.Config {
	spec := fakeproxy.DefaultSpec()
	spec.Count = n
	spec.Variant = v.String()
	spec.ConnectRate = 2000
	spec.Transport = transport
	spec.Reconnect.Initial.Duration = time.Millisecond
	spec.Reconnect.Max.Duration = 20 * time.Millisecond
	cfg := fakeproxy.Config{Spec: spec, Addresses: []string{addr}, Clock: event.NewClock(), Sink: &recorder{}, Seed: 1}
	for _, o := range opts {
		o(&cfg)
	}
	for i := range cfg.Spec.Count {
		cfg.Identities = append(cfg.Identities, node.Identity{
			ID:       fmt.Sprintf("sidecar~10.0.0.%d~p%d.ns~ns.svc.cluster.local", i, i),
			Metadata: func() map[string]any { return map[string]any{"NAMESPACE": "ns"} },
			Variant:  v,
		})
	}
	return cfg
}

// start runs a fleet until the test ends.
func start(t *testing.T, cfg fakeproxy.Config) *fleet {
	t.Helper()
	f, err := fakeproxy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return run(t, f, cfg)
}

// run runs a fleet of this config until the test ends.
func run(t *testing.T, f *fakeproxy.Fleet, cfg fakeproxy.Config) *fleet {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	stop := sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	sink, _ := cfg.Sink.(*recorder)
	return &fleet{Fleet: f, sink: sink, stop: stop}
}

// one runs a single proxy and returns its first stream.
func one(t *testing.T, v xds.Variant, opts ...option) (*adstest.Server, *fleet, *adstest.Stream) {
	t.Helper()
	srv := adstest.Start(t)
	f := start(t, config(srv.Addr, v, 1, opts...))
	return srv, f, srv.Accept(t)
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if cond() {
			return
		}
	}
	t.Fatalf("not in time: %s", what)
}

// endpoints collects what Fleet.Endpoints yields.
func endpoints(f *fleet, proxy int) map[string][]uint64 {
	return maps.Collect(f.Endpoints(proxy))
}

// typeDump returns the dump of one type of proxy 0.
func typeDump(f *fleet, t xds.Type) fakeproxy.TypeDump {
	return f.Dump(0).Types[t]
}

func wantNames(t *testing.T, r adstest.Request, names ...string) {
	t.Helper()
	slices.Sort(r.Names)
	if !slices.Equal(r.Names, names) {
		t.Errorf("%s request names %q, want %q", r.TypeURL, r.Names, names)
	}
}

func wantAck(t *testing.T, r adstest.Request, version string) {
	t.Helper()
	if r.Error != "" || r.Nonce != "n-"+version {
		t.Errorf("got %+v, want an ACK of version %s", r, version)
	}
}
