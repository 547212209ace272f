// Package discovery serves ADS. Updates of the registry are debounced into
// pushes. Each push builds the next snapshot and queues every connection, which
// then sends what its proxy needs, one response after the other.
package discovery

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/config"
	"github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	xdsserver "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsbench/xdsbench/controlplane/faults"
	"github.com/xdsbench/xdsbench/controlplane/internal/metrics"
	"github.com/xdsbench/xdsbench/controlplane/internal/registry"
	"github.com/xdsbench/xdsbench/controlplane/internal/snapshot"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

const (
	// admissionTimeout is how long a new stream waits for its turn under
	// PILOT_MAX_REQUESTS_PER_SECOND before it is refused, as in istiod.
	admissionTimeout = time.Second

	// updateBacklog lets informers go on while the debouncer starts a push.
	updateBacklog = 256
)

// Config is what a Server needs.
type Config struct {
	Registry *registry.Registry
	Metrics  *metrics.Metrics
	Faults   *faults.Injector // nil for none
	Log      *slog.Logger

	DebounceAfter time.Duration // quiet time before a push
	DebounceMax   time.Duration // longest wait since the first update
	EDSDebounce   bool          // false pushes endpoint changes at once
	PushThrottle  int           // pushes in flight, at least 1
	MaxRequests   float64       // new streams per second, 0 for no limit
	SendUnhealthy bool          // endpoints that are not ready are among those of the registry
}

// Server serves ADS streams.
type Server struct {
	cfg      Config
	limiter  *rate.Limiter // nil for no limit
	interner *xds.Interner

	updates  chan *registry.Update
	stopped  chan struct{} // closed when updates are no longer read
	pushMu   sync.Mutex    // one snapshot is built at a time
	snapshot atomic.Pointer[snapshot.Snapshot]
	queue    *pushQueue[*connection]
	slots    chan struct{} // one token per push in flight

	mu          sync.Mutex
	connections map[*connection]struct{}
	byAddress   map[string]map[*connection]struct{}

	discovery.UnimplementedAggregatedDiscoveryServiceServer
}

var _ registry.Listener = (*Server)(nil)

// New returns a server that has nothing to serve before the first Push.
func New(cfg Config) *Server {
	d := &Server{
		cfg:         cfg,
		interner:    xds.NewInterner(),
		updates:     make(chan *registry.Update, updateBacklog),
		stopped:     make(chan struct{}),
		queue:       newPushQueue[*connection](),
		slots:       make(chan struct{}, cfg.PushThrottle),
		connections: make(map[*connection]struct{}),
		byAddress:   make(map[string]map[*connection]struct{}),
	}
	d.snapshot.Store(snapshot.Empty())
	if cfg.MaxRequests > 0 {
		d.limiter = rate.NewLimiter(rate.Limit(cfg.MaxRequests), 1)
	}
	return d
}

// Services is how many services there are.
func (d *Server) Services() int { return d.snapshot.Load().Services() }

// Version is that of the resource that a proxy should hold, empty if there is none.
func (d *Server) Version(of faults.StaleCluster) string {
	kind := xds.EDS
	for t := range xds.TypeCount {
		if t.String() == of.Type {
			kind = t
		}
	}
	namespace := of.Proxy[strings.LastIndexByte(of.Proxy, '.')+1:]
	return d.snapshot.Load().ResourceVersion(kind, of.Cluster, namespace)
}

// Run debounces updates and dispatches pushes until ctx is done.
func (d *Server) Run(ctx context.Context) {
	defer close(d.stopped)
	debounce := &debouncer{
		after:     d.cfg.DebounceAfter,
		max:       d.cfg.DebounceMax,
		eds:       d.cfg.EDSDebounce,
		push:      d.Push,
		debounced: func(t time.Duration) { d.cfg.Metrics.DebounceTime.Observe(t.Seconds()) },
	}
	var dispatching sync.WaitGroup
	dispatching.Go(func() { d.dispatch(ctx) })
	debounce.run(ctx, d.updates)
	dispatching.Wait()
}

// Updated takes an update for the debouncer.
func (d *Server) Updated(u *registry.Update) {
	select {
	case d.updates <- u:
	case <-d.stopped:
	}
}

// WorkloadChanged queues a full push for the proxies at an address. It is not
// debounced, as in istiod.
func (d *Server) WorkloadChanged(address string) {
	d.mu.Lock()
	conns := slices.Collect(maps.Keys(d.byAddress[address]))
	d.mu.Unlock()
	d.queue.enqueue(&snapshot.PushRequest{
		Full: true, Start: time.Now(), Reasons: map[string]int{registry.ReasonProxy: 1},
	}, conns...)
}

// Push builds the next snapshot and queues every connection for it, unless no
// proxy would see a difference.
func (d *Server) Push(u *registry.Update) {
	d.pushMu.Lock()
	defer d.pushMu.Unlock()
	began := time.Now()
	current := d.snapshot.Load()
	next, request, err := current.Next(u, d.cfg.Registry.View(u), d.cfg.SendUnhealthy, d.lose())
	if err != nil {
		d.cfg.Metrics.InternalErrors.Inc()
		d.cfg.Log.Error("push failed; the changed services keep their old resources", "error", err)
		return
	}
	if u.Full {
		d.cfg.Metrics.InitTime.Observe(time.Since(began).Seconds())
		d.cfg.Metrics.Services.Set(float64(next.Services()))
	} else if request != nil {
		for _, name := range slices.Sorted(maps.Keys(request.Endpoints)) {
			if d.cfg.Faults.LoseUpdate(xds.EDS, name) {
				next.KeepAssignment(current.Assignment(name))
				request.Endpoints.Delete(name)
			}
		}
	}
	if request == nil {
		return
	}
	// Published before the connections are listed: one that is added after that
	// is answered from this snapshot.
	d.snapshot.Store(next)
	if !request.Full && request.Endpoints.Len() == 0 {
		return // all updates were lost
	}
	request.Start = time.Now()
	d.mu.Lock()
	conns := slices.Collect(maps.Keys(d.connections))
	d.mu.Unlock()
	d.queue.enqueue(request, conns...)
}

// lose returns what decides which updates are lost, nil if none are.
func (d *Server) lose() func(xds.Type, ...string) bool {
	if d.cfg.Faults == nil || d.snapshot.Load().Services() == 0 {
		return nil // the first state is no update
	}
	return d.cfg.Faults.LoseUpdate
}

// dispatch takes connections from the queue and starts their pushes, as many at
// a time as there are slots, until ctx is done.
func (d *Server) dispatch(ctx context.Context) {
	defer context.AfterFunc(ctx, d.queue.shutDown)()
	for {
		select {
		case d.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		c, request, ok := d.queue.dequeue()
		if !ok || ctx.Err() != nil {
			return
		}
		d.cfg.Metrics.Triggered(request.Reasons)
		d.cfg.Metrics.QueueTime.Observe(time.Since(request.Start).Seconds())
		c.startPush(request, func() {
			d.queue.done(c)
			<-d.slots
		})
	}
}

// StreamAggregatedResources serves a SotW stream.
func (d *Server) StreamAggregatedResources(
	stream discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer,
) error {
	c, server, err := d.admit(stream.Context(), false)
	if err != nil {
		return err
	}
	defer c.close()
	return server.StreamHandler(&sotwStream{stream, c}, resource.AnyType)
}

// DeltaAggregatedResources serves a Delta stream.
func (d *Server) DeltaAggregatedResources(
	stream discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
) error {
	c, server, err := d.admit(stream.Context(), true)
	if err != nil {
		return err
	}
	defer c.close()
	return server.DeltaStreamHandler(&deltaStream{stream, c}, resource.AnyType)
}

// admit lets a stream begin. Each has a server of its own, which is a small
// struct: the library does not tell its cache which stream a watch belongs to.
func (d *Server) admit(ctx context.Context, delta bool) (*connection, xdsserver.Server, error) {
	if d.limiter != nil {
		turn, cancel := context.WithTimeout(ctx, admissionTimeout)
		defer cancel()
		if err := d.limiter.Wait(turn); err != nil {
			return nil, nil, status.Errorf(codes.ResourceExhausted, "request rate limit exceeded: %v", err)
		}
	}
	c := &connection{server: d, faults: d.cfg.Faults, delta: delta}
	server := xdsserver.NewServer(ctx, c, nil, sotw.WithOrderedADS(),
		config.DeactivateLegacyWildcardForTypes([]string{resource.EndpointType, resource.RouteType}))
	return c, server, nil
}

// add lists a connection: pushes that begin from now on include it. Its first
// requests are answered with what earlier pushes have published.
func (d *Server) add(c *connection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.connections[c] = struct{}{}
	if c.node.address != "" {
		if d.byAddress[c.node.address] == nil {
			d.byAddress[c.node.address] = make(map[*connection]struct{})
		}
		d.byAddress[c.node.address][c] = struct{}{}
	}
	d.cfg.Metrics.Clients.WithLabelValues(c.node.version).Inc()
}

func (d *Server) remove(c *connection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, listed := d.connections[c]; !listed {
		return
	}
	delete(d.connections, c)
	delete(d.byAddress[c.node.address], c)
	if len(d.byAddress[c.node.address]) == 0 {
		delete(d.byAddress, c.node.address)
	}
	d.cfg.Metrics.Clients.WithLabelValues(c.node.version).Dec()
}
