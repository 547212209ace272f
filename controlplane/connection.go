package controlplane

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// connection is one ADS stream: the cache.Cache that go-control-plane's server
// asks for its watches, and the place where the push queue answers them.
//
// Responses wait in the outbox and enter the server's channel one at a time;
// the next follows when the one before has been sent. Two rules of the server
// make that necessary. It handles requests and responses in one loop, so a
// channel that the loop has to empty must never block the loop's own call of
// CreateWatch. And when a request arrives, its SotW loop throws away what the
// channel holds of the request's type: with one response in the channel at
// most, the loss is known and put right, and the order of types is kept.
type connection struct {
	server *discoveryServer
	delta  bool

	// Set by the first request, before the connection is listed.
	identified bool
	node       string // node.id
	id         nodeID
	version    string // of the proxy
	cluster    string

	mu       sync.Mutex
	inbox    []*incoming // SotW requests that were received and not handled
	watches  [typeCount]watch
	outbox   []*response
	current  *response       // in the server's channel, or being sent
	put      func(*response) // into the server's channel
	paused   bool            // between the end of a watch and the next one
	closed   bool
	pushing  *inFlight
	sentHome *inbound // whose clusters were sent last

	// For injected faults.
	synced   *snapshot // that its requests for endpoints were last answered from
	lastDue  time.Time // of the pushes that are held back
	withheld []string  // clusters whose endpoints come first
}

// watch is the state of one type on a stream.
type watch struct {
	open      bool
	names     *nameSet // EDS and RDS
	sent      string   // nonces
	acked     string
	lastError string // of a NACK that no ACK has followed
}

// inFlight is a push whose responses are on their way.
type inFlight struct {
	start     time.Time
	remaining int
	done      func()
}

var (
	_ cache.Cache = (*connection)(nil)

	errNoFetch = errors.New("fetching is not supported; open an ADS stream")
)

// Fetch refuses REST requests, which the server does not serve.
func (c *connection) Fetch(context.Context, *cache.Request) (cache.Response, error) {
	return nil, errNoFetch
}

// identify takes the node of the first request and lists the connection, which
// from then on takes part in pushes.
func (c *connection) identify(node *core.Node) error {
	if c.identified {
		return nil
	}
	if node.GetId() == "" {
		return status.Error(codes.InvalidArgument, "missing node ID in the first request")
	}
	c.identified = true
	c.node = node.GetId()
	c.id = parseNodeID(c.node)
	fields := node.GetMetadata().GetFields()
	c.version = fields["ISTIO_VERSION"].GetStringValue()
	c.cluster = fields["CLUSTER_ID"].GetStringValue()
	c.server.add(c)
	c.server.faults.denies(c.id.name, false)
	return nil
}

// received notes the names of a SotW request, for when it is handled.
func (c *connection) received(in *incoming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		c.server.names.release(in.names)
		return
	}
	c.inbox = append(c.inbox, in)
}

// namesOfLocked returns the names of a request. Requests are handled in the
// order in which they were received; those that the server has skipped, for
// their nonce is old, are dropped.
func (c *connection) namesOfLocked(req *cache.Request) *nameSet {
	for len(c.inbox) > 0 {
		in := c.inbox[0]
		c.inbox = c.inbox[1:]
		if in.request == req {
			return in.names
		}
		if t, known := typeOf(in.request.GetTypeUrl()); known {
			c.server.metrics.expiredNonces[t].Inc()
		}
		c.server.names.release(in.names)
	}
	return nil
}

// pause ends a watch. The server calls it before it changes the subscription,
// and when the stream ends: then nothing may be put into the channel any more.
func (c *connection) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = true
}

// resumeLocked begins a watch for t. If the server has thrown away a response
// of that type, it goes back to the front of the outbox.
func (c *connection) resumeLocked(t xdsType) {
	lost := c.current
	if !c.delta && c.paused && lost != nil && lost.kind == t {
		c.current = nil
		c.outbox = slices.Insert(c.outbox, 0, lost)
	}
	c.paused = false
}

// pumpLocked puts the next response into the server's channel.
func (c *connection) pumpLocked() {
	if c.paused || c.closed || c.current != nil || len(c.outbox) == 0 {
		return
	}
	c.current = c.outbox[0]
	c.outbox[0] = nil
	c.outbox = c.outbox[1:]
	if len(c.outbox) == 0 {
		c.outbox = nil
	}
	c.put(c.current)
}

// answerLocked queues responses to a request, outside the push queue.
func (c *connection) answerLocked(responses ...*response) {
	for _, r := range responses {
		if r != nil {
			c.outbox = append(c.outbox, r)
		}
	}
}

// begin starts a push: it decides what the proxy must be sent and queues that.
// done is called once, when the last response has been sent, when there is
// none, or when the stream has ended.
func (c *connection) begin(p *pushRequest, done func()) {
	c.mu.Lock()
	var responses []*response
	if !c.closed {
		responses = c.pushResponsesLocked(p)
	}
	if len(responses) == 0 {
		closed := c.closed
		c.mu.Unlock()
		if !closed {
			c.server.metrics.convergence.Observe(time.Since(p.start).Seconds())
		}
		done()
		return
	}
	flight := &inFlight{start: p.start, remaining: len(responses), done: done}
	for _, r := range responses {
		r.push = flight
	}
	responses[0].first = true
	if d, ok := c.server.faults.hold(c.id.name); ok {
		c.holdLocked(d, responses, flight)
		c.mu.Unlock()
		done()
		return
	}
	c.pushing = flight
	c.queueLocked(responses)
	c.mu.Unlock()
}

func (c *connection) queueLocked(responses []*response) {
	c.outbox = append(c.outbox, responses...)
	c.pumpLocked()
}

// holdLocked holds back a push, as an injected fault. The push is over for the
// push queue, so that the delay delays and nothing else: it takes no slot of
// PILOT_PUSH_THROTTLE, and does not hold up the next push. One that is due
// before its predecessor leaves right after it.
func (c *connection) holdLocked(d time.Duration, responses []*response, flight *inFlight) {
	flight.done = func() {}
	began := time.Now()
	due := began.Add(d)
	if due.Before(c.lastDue) {
		due = c.lastDue
	}
	c.lastDue = due
	c.server.faults.timer.at(due, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closed {
			c.server.faults.held(time.Since(began))
			c.queueLocked(responses)
		}
	})
}

// send passes the current response to the stream, and then lets the next one
// follow. The server's loop calls it.
func (c *connection) send(nonce string, write func(*bundle) error) error {
	c.mu.Lock()
	r := c.current
	if r == nil {
		c.mu.Unlock()
		return status.Error(codes.Internal, "response out of order")
	}
	c.watches[r.kind].sent = nonce
	c.mu.Unlock()

	if r.first {
		r.took += c.server.faults.burn()
	}
	began := time.Now()
	if err := write(r.content); err != nil {
		return err
	}
	c.server.metrics.sent(r.kind, r.content.bytes, r.took, time.Since(began))
	c.sentCurrent(r)
	return nil
}

func (c *connection) sentCurrent(r *response) {
	c.mu.Lock()
	c.current = nil
	var finished *inFlight
	if r.push != nil {
		r.push.remaining--
		if r.push.remaining == 0 {
			finished = r.push
			c.pushing = nil
		}
	}
	c.pumpLocked()
	c.mu.Unlock()
	if finished != nil {
		c.server.metrics.convergence.Observe(time.Since(finished.start).Seconds())
		finished.done()
	}
}

// close ends the connection when its stream has ended.
func (c *connection) close() {
	c.server.remove(c)
	c.mu.Lock()
	c.closed = true
	c.outbox, c.current = nil, nil
	pushing := c.pushing
	c.pushing = nil
	for t := range c.watches {
		c.server.names.release(c.watches[t].names)
		c.watches[t].names = nil
	}
	for _, in := range c.inbox {
		c.server.names.release(in.names)
	}
	c.inbox = nil
	c.mu.Unlock()
	if pushing != nil {
		pushing.done()
	}
}

// rejectLocked records a NACK. Nothing is sent again until the next change:
// the proxy would only reject it again.
func (c *connection) rejectLocked(t xdsType, detail *rpcstatus.Status) {
	code := codes.Code(uint32(detail.GetCode())).String()
	c.watches[t].lastError = detail.GetMessage()
	c.server.metrics.rejected(t, c.id.name, code)
	c.server.log.Debug("proxy rejects its configuration",
		"node", c.node, "type", t.label(), "code", code, "message", detail.GetMessage())
}
