package discovery

import (
	"maps"
	"slices"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsbench/xdsbench/controlplane/internal/wire"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// CreateWatch handles a SotW request. The server has made sure that its nonce
// is the last one of the type, or that it is the type's first request.
func (c *connection) CreateWatch(req *cache.Request, _ cache.Subscription, out chan cache.Response) (func(), error) {
	return c.handle(req, func(t xds.Type) {
		c.sotwOut = out
		before := c.watches[t].names
		c.watches[t].names = c.namesOfLocked(req)
		c.answerLocked(t, c.watches[t].names.Without(before), nil)
	})
}

// CreateDeltaWatch handles a Delta request.
func (c *connection) CreateDeltaWatch(
	req *cache.DeltaRequest, sub cache.Subscription, out chan cache.DeltaResponse,
) (func(), error) {
	return c.handle(req, func(t xds.Type) {
		c.deltaOut = out
		// A name that the client subscribes to once more is sent once more: the
		// client may have forgotten the resource though it never unsubscribed (xDS
		// protocol, "Subscribing to Resources").
		wanted := req.GetResourceNamesSubscribe()
		if len(wanted)+len(req.GetResourceNamesUnsubscribe()) > 0 {
			c.watches[t].names = c.server.interner.Of(slices.Collect(maps.Keys(sub.SubscribedResources())))
		}
		c.answerLocked(t, wanted, req.GetInitialResourceVersions())
	})
}

// request is what requests of both variants have in common.
type request interface {
	GetNode() *core.Node
	GetTypeUrl() string
	GetResponseNonce() string
	GetErrorDetail() *rpcstatus.Status
}

// handle records what a request says of the last response and has it answered.
// It returns what ends the watch.
func (c *connection) handle(req request, answer func(t xds.Type)) (func(), error) {
	if err := c.identify(req.GetNode()); err != nil {
		return nil, err
	}
	t, known := xds.TypeOf(req.GetTypeUrl())
	if !known {
		return func() {}, nil // a type that nothing is ever sent for
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resumeLocked(t)
	if c.faults.Unanswered(c.delta, t) {
		c.faults.RecordUnanswered(c.delta, t)
		return c.pause, nil // not open: pushes leave it out too
	}
	if c.watches[t].open {
		c.acknowledgeLocked(t, req)
	}
	answer(t)
	c.watches[t].open = true
	c.sendNextLocked()
	return c.pause, nil
}

// acknowledgeLocked records an ACK or NACK. A request without nonce only
// changes the subscription; one with an old nonce says nothing about the
// state now.
func (c *connection) acknowledgeLocked(t xds.Type, req request) {
	w := &c.watches[t]
	switch nonce := req.GetResponseNonce(); {
	case nonce == "":
	case req.GetErrorDetail() != nil:
		c.rejectLocked(t, req.GetErrorDetail())
	case nonce == w.sent:
		w.acked, w.lastError = nonce, ""
	default:
		c.server.cfg.Metrics.ExpiredNonces[t].Inc()
	}
}

// answerLocked answers a request for the names that are wanted in addition, or
// for all resources. known holds the versions of what a Delta client has.
func (c *connection) answerLocked(t xds.Type, wanted []string, known map[string]string) {
	switch subscribed := c.watches[t].names.Names(); {
	case t.Wildcard():
		if !c.watches[t].open {
			c.enqueueLocked(c.completeResponseLocked(t, known), c.dependentsLocked(t))
		}
	case len(wanted) == 0 || len(subscribed) == 0:
	case len(wanted) == len(subscribed):
		c.enqueueLocked(c.completeResponseLocked(t, known), c.clustersAfterEndpointsLocked(t))
	default:
		c.enqueueLocked(c.namedResponseLocked(t, wanted, known))
	}
}

// received notes the names of a SotW request that will be handled.
func (c *connection) received(in *wire.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, served := xds.TypeOf(in.Message.GetTypeUrl())
	if served && !c.closed && !c.faults.Unanswered(c.delta, t) {
		c.inbox = append(c.inbox, in)
	}
}

// namesOfLocked returns the names of a request. Requests are handled in the
// order in which they were received; those that the server has skipped, for
// their nonce is old, are dropped.
func (c *connection) namesOfLocked(req *cache.Request) *xds.NameSet {
	for len(c.inbox) > 0 {
		in := c.inbox[0]
		c.inbox = c.inbox[1:]
		if in.Message == req {
			return in.Names
		}
		t, _ := xds.TypeOf(in.Message.GetTypeUrl())
		c.server.cfg.Metrics.ExpiredNonces[t].Inc()
	}
	return nil
}
