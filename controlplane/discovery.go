package controlplane

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/config"
	"github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	xdsserver "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// admissionWait is how long a new stream waits for its turn under
// PILOT_MAX_REQUESTS_PER_SECOND before it is refused, as in istiod.
const admissionWait = time.Second

// unknownVersion labels proxies that do not say their version.
const unknownVersion = "unknown"

// discoveryServer serves ADS: it builds snapshots out of updates and brings
// them to every connection through the push queue.
type discoveryServer struct {
	registry *registry
	metrics  *metrics
	log      *slog.Logger
	limiter  *rate.Limiter // nil for no limit
	names    *interner
	queue    *pushQueue[*connection]
	slots    chan struct{} // one token per push in flight
	faults   *faults       // nil for none

	snapshot atomic.Pointer[snapshot]

	pushMu sync.Mutex // one snapshot is built at a time
	number uint64     // of the last snapshot

	mu        sync.Mutex
	clients   map[*connection]struct{}
	byAddress map[string]map[*connection]struct{}

	// What the library wants to see as the cause of a response: a type.
	sotwRequests  [typeCount]*discovery.DiscoveryRequest
	deltaRequests [typeCount]*discovery.DeltaDiscoveryRequest
	identity      *core.ControlPlane

	discovery.UnimplementedAggregatedDiscoveryServiceServer
}

func newDiscoveryServer(r *registry, m *metrics, s settings, log *slog.Logger) *discoveryServer {
	d := &discoveryServer{
		registry:  r,
		metrics:   m,
		log:       log,
		names:     newInterner(),
		queue:     newPushQueue[*connection](),
		slots:     make(chan struct{}, s.pushThrottle),
		clients:   make(map[*connection]struct{}),
		byAddress: make(map[string]map[*connection]struct{}),
		identity:  identify(),
	}
	if s.maxRequests > 0 {
		d.limiter = rate.NewLimiter(rate.Limit(s.maxRequests), 1)
	}
	for t := range typeCount {
		d.sotwRequests[t] = &discovery.DiscoveryRequest{TypeUrl: t.url()}
		d.deltaRequests[t] = &discovery.DeltaDiscoveryRequest{TypeUrl: t.url()}
	}
	return d
}

// StreamAggregatedResources serves a SotW stream.
func (d *discoveryServer) StreamAggregatedResources(
	stream discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer,
) error {
	c, server, err := d.open(stream.Context(), false)
	if err != nil {
		return err
	}
	defer c.close()
	return server.StreamHandler(&sotwStream{stream, c}, resource.AnyType)
}

// DeltaAggregatedResources serves a Delta stream.
func (d *discoveryServer) DeltaAggregatedResources(
	stream discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
) error {
	c, server, err := d.open(stream.Context(), true)
	if err != nil {
		return err
	}
	defer c.close()
	return server.DeltaStreamHandler(&deltaStream{stream, c}, resource.AnyType)
}

// open admits a stream. Each has a server of its own, which is a small struct:
// the library does not tell its cache which stream a watch belongs to.
func (d *discoveryServer) open(ctx context.Context, delta bool) (*connection, xdsserver.Server, error) {
	if d.limiter != nil {
		waitCtx, cancel := context.WithTimeout(ctx, admissionWait)
		defer cancel()
		if err := d.limiter.Wait(waitCtx); err != nil {
			return nil, nil, status.Errorf(codes.ResourceExhausted, "request rate limit exceeded: %v", err)
		}
	}
	c := &connection{server: d, delta: delta}
	server := xdsserver.NewServer(ctx, c, nil, sotw.WithOrderedADS(),
		config.DeactivateLegacyWildcardForTypes([]string{resource.EndpointType, resource.RouteType}))
	return c, server, nil
}

// add lists a connection: pushes that begin from now on include it. What
// pushes before have published, its first requests are answered with.
func (d *discoveryServer) add(c *connection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients[c] = struct{}{}
	if c.id.address != "" {
		if d.byAddress[c.id.address] == nil {
			d.byAddress[c.id.address] = make(map[*connection]struct{})
		}
		d.byAddress[c.id.address][c] = struct{}{}
	}
	d.metrics.clients.WithLabelValues(c.versionLabel()).Inc()
}

func (d *discoveryServer) remove(c *connection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, listed := d.clients[c]; !listed {
		return
	}
	delete(d.clients, c)
	delete(d.byAddress[c.id.address], c)
	if len(d.byAddress[c.id.address]) == 0 {
		delete(d.byAddress, c.id.address)
	}
	d.metrics.clients.WithLabelValues(c.versionLabel()).Dec()
}

func (c *connection) versionLabel() string {
	if c.version == "" {
		return unknownVersion
	}
	return c.version
}

func (d *discoveryServer) connections() []*connection {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.clients))
}

// push builds the next snapshot from the model and queues every connection for
// it. Nothing is queued if no proxy would see a difference.
func (d *discoveryServer) push(u *update) {
	d.pushMu.Lock()
	defer d.pushMu.Unlock()
	began := time.Now()
	d.number++
	next, request, err := d.registry.build(d.snapshot.Load(), u, d.number)
	if err != nil {
		d.metrics.internalErrors.Inc()
		d.log.Error("push failed; the changed services keep their old resources", "error", err)
		return
	}
	if u.full {
		d.metrics.initTime.Observe(time.Since(began).Seconds())
		d.metrics.services.Set(float64(len(next.routing.services)))
	}
	if request == nil {
		return
	}
	if !d.faults.lose(d.snapshot.Load(), next, request) {
		d.snapshot.Store(next)
		return
	}
	// Published before the connections are listed: one that is added after
	// that is answered from this snapshot.
	d.snapshot.Store(next)
	request.start = time.Now()
	d.queue.enqueue(request, d.connections()...)
}

// pushProxies queues a full push for the proxies at an address, whose workload
// has changed. It is not debounced, as in istiod.
func (d *discoveryServer) pushProxies(address string) {
	d.mu.Lock()
	conns := slices.Collect(maps.Keys(d.byAddress[address]))
	d.mu.Unlock()
	if len(conns) > 0 {
		request := &pushRequest{full: true, start: time.Now(), reasons: map[string]int{reasonProxy: 1}}
		d.queue.enqueue(request, conns...)
	}
}

// dispatch takes connections from the queue and begins their pushes, as many
// at a time as there are slots, until ctx is done.
func (d *discoveryServer) dispatch(ctx context.Context) {
	for {
		select {
		case d.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		c, request, ok := d.queue.dequeue(ctx)
		if !ok {
			return
		}
		d.metrics.triggered(request.reasons)
		d.metrics.queueTime.Observe(time.Since(request.start).Seconds())
		c.begin(request, func() {
			d.queue.markDone(c)
			<-d.slots
		})
	}
}

// canonical replaces known names by the snapshot's copies. Each stream keeps
// the names it subscribes to; so all of them keep the same strings.
func (d *discoveryServer) canonical(names []string) {
	endpoints := d.snapshot.Load().endpoints
	for i, name := range names {
		if e, ok := endpoints[name]; ok {
			names[i] = e.name
		}
	}
}
