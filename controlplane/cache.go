package controlplane

import (
	"maps"
	"slices"

	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

// CreateWatch handles a SotW request. The server has made sure that its nonce
// is the last one of the type, or that it is the type's first request.
func (c *connection) CreateWatch(req *cache.Request, _ cache.Subscription, out chan cache.Response) (func(), error) {
	if err := c.identify(req.GetNode()); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	names := c.namesOfLocked(req)
	t, known := typeOf(req.GetTypeUrl())
	if !known {
		c.server.names.release(names)
		return func() {}, nil // a type that nothing is ever sent for
	}
	if c.put == nil {
		c.put = func(r *response) { out <- newSotwResponse(r, c.server.sotwRequests[r.kind], c.server.identity) }
	}
	c.resumeLocked(t)
	c.handleSotwLocked(t, req, names)
	c.pumpLocked()
	return c.pause, nil
}

func (c *connection) handleSotwLocked(t xdsType, req *cache.Request, names *nameSet) {
	w := &c.watches[t]
	if detail := req.GetErrorDetail(); detail != nil && w.open {
		c.rejectLocked(t, detail)
		c.server.names.release(names)
		return
	}
	first := !w.open
	w.open = true
	if !first && req.GetResponseNonce() != "" {
		w.acked, w.lastError = req.GetResponseNonce(), ""
	}
	if t.wildcard() {
		c.server.names.release(names)
		if first {
			c.answerLocked(c.wholeLocked(t, nil), c.dependentsLocked(t))
		}
		return
	}
	before := w.names
	w.names = names
	added := names.without(before)
	c.server.names.release(before)
	switch {
	case w.names.len() == 0, !first && len(added) == 0:
	case first || len(added) == w.names.len():
		c.answerLocked(c.wholeLocked(t, nil), c.withheldLocked(t))
	default:
		c.answerLocked(c.namedLocked(t, added, nil))
	}
}

// CreateDeltaWatch handles a Delta request.
func (c *connection) CreateDeltaWatch(
	req *cache.DeltaRequest, sub cache.Subscription, out chan cache.DeltaResponse,
) (func(), error) {
	if err := c.identify(req.GetNode()); err != nil {
		return nil, err
	}
	t, known := typeOf(req.GetTypeUrl())
	if !known {
		return func() {}, nil // a type that nothing is ever sent for
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.put == nil {
		c.put = func(r *response) { out <- newDeltaResponse(r, c.server.deltaRequests[r.kind], c.server.identity) }
	}
	c.resumeLocked(t)
	c.handleDeltaLocked(t, req, sub)
	c.pumpLocked()
	return c.pause, nil
}

func (c *connection) handleDeltaLocked(t xdsType, req *cache.DeltaRequest, sub cache.Subscription) {
	w := &c.watches[t]
	first := !w.open
	w.open = true
	if !first {
		c.acknowledgeLocked(t, req)
	}
	if t.wildcard() {
		if first {
			c.answerLocked(c.wholeLocked(t, req.GetInitialResourceVersions()), c.dependentsLocked(t))
		}
		return
	}
	subscribe := req.GetResourceNamesSubscribe()
	if !first && len(subscribe) == 0 && len(req.GetResourceNamesUnsubscribe()) == 0 {
		return
	}
	before := w.names
	w.names = c.server.names.of(slices.Collect(maps.Keys(sub.SubscribedResources())))
	c.server.names.release(before)
	if len(subscribe) == 0 || w.names.len() == 0 {
		return
	}
	known := req.GetInitialResourceVersions()
	if len(subscribe) == w.names.len() {
		c.answerLocked(c.wholeLocked(t, known), c.withheldLocked(t))
		return
	}
	// A name that the client subscribes to once more is sent once more: the
	// client may have forgotten the resource though it never unsubscribed (xDS
	// protocol, "Subscribing to Resources").
	c.answerLocked(c.namedLocked(t, subscribe, known))
}

// acknowledgeLocked records an ACK or NACK. A request without nonce only
// changes the subscription; one with an old nonce says nothing about the
// state now.
func (c *connection) acknowledgeLocked(t xdsType, req *cache.DeltaRequest) {
	w := &c.watches[t]
	switch nonce := req.GetResponseNonce(); {
	case nonce == "":
	case req.GetErrorDetail() != nil:
		c.rejectLocked(t, req.GetErrorDetail())
	case nonce == w.sent:
		w.acked, w.lastError = nonce, ""
	default:
		c.server.metrics.expiredNonces[t].Inc()
	}
}
