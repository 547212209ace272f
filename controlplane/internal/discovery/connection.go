package discovery

import (
	"errors"
	"slices"
	"sync"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/xdsbench/xdsbench/controlplane/faults"
	"github.com/xdsbench/xdsbench/controlplane/internal/snapshot"
	"github.com/xdsbench/xdsbench/controlplane/internal/wire"
	"github.com/xdsbench/xdsbench/controlplane/internal/xds"
)

// connection is one ADS stream: the cache.Cache that go-control-plane's server
// asks for its watches, and the place where the push queue answers them.
//
// Responses wait in the outbox and enter the server's channel one at a time;
// the next follows when the one before has been sent. Two rules of the server
// make that necessary. It handles requests and responses in one loop, so a full
// channel, which only that loop empties, must not block its call of CreateWatch.
// And when a request arrives, its SotW loop drops what the channel holds of the
// request's type: with at most one response in the channel, the connection
// notices and sends it again, and the order of types is kept.
type connection struct {
	server *Server
	faults *faults.Injector
	delta  bool

	// Set by the first request, before the connection is listed.
	identified bool
	node       node

	mu        sync.Mutex
	inbox     []*wire.Request // SotW requests that were received and not handled
	watches   [xds.TypeCount]watch
	outbox    []*response
	current   *response // in the server's channel, or being sent
	paused    bool      // between the end of a watch and the next one
	closed    bool
	pushing   *inFlight
	inbound   *snapshot.Inbound // whose clusters were sent last
	listening *snapshot.Inbound // whose listeners were sent last

	// The server's channel, of either variant.
	sotwOut  chan cache.Response
	deltaOut chan cache.DeltaResponse

	// For injected faults.
	answered *snapshot.Snapshot         // from which a request for endpoints was last answered
	complete [xds.TypeCount]*xds.Bundle // the last complete answer of the other types
	lastDue  time.Time                  // of the pushes that are held back
	early    sets.Set[string]           // clusters that are not sent before their endpoints
	late     sets.Set[string]           // clusters that are not sent yet
}

// watch is the state of one type on a stream.
type watch struct {
	open      bool
	names     *xds.NameSet // EDS and RDS
	sent      string       // nonces
	acked     string
	lastError string // of a NACK that no ACK has followed
}

// response is one message on its way to a proxy. Its resources are shared with
// the responses to other proxies.
type response struct {
	kind      xds.Type
	version   string
	content   *xds.Bundle
	removed   []string // Delta only
	buildTime time.Duration
	push      *inFlight // nil for an answer to a request
	first     bool      // of its push
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

// identify takes the node of the first request and lists the connection, which
// from then on takes part in pushes.
func (c *connection) identify(n *core.Node) error {
	if c.identified {
		return nil
	}
	if n.GetId() == "" {
		return status.Error(codes.InvalidArgument, "missing node ID in the first request")
	}
	c.identified = true
	c.node = newNode(n)
	c.server.add(c)
	for t := range xds.TypeCount {
		if c.faults.Unserved(c.node.name, t) {
			c.faults.RecordUnserved(c.node.name, 0)
		}
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

// resumeLocked begins a watch for t. If the server has dropped a response of that
// type, it goes back to the front of the outbox.
func (c *connection) resumeLocked(t xds.Type) {
	lost := c.current
	if !c.delta && c.paused && lost != nil && lost.kind == t {
		c.current = nil
		c.outbox = slices.Insert(c.outbox, 0, lost)
	}
	c.paused = false
}

// enqueueLocked puts responses into the outbox; nil ones are left out.
func (c *connection) enqueueLocked(responses ...*response) {
	responses = slices.DeleteFunc(responses, func(r *response) bool { return r == nil })
	c.outbox = append(c.outbox, responses...)
	if c.faults.Silent() {
		c.faults.RecordSilenced(len(responses))
	}
	c.sendNextLocked()
}

// sendNextLocked puts the next response into the server's channel, if it may.
func (c *connection) sendNextLocked() {
	if c.paused || c.closed || c.current != nil || len(c.outbox) == 0 || c.faults.Silent() {
		return
	}
	c.current = c.outbox[0]
	c.outbox[0] = nil
	c.outbox = c.outbox[1:]
	if len(c.outbox) == 0 {
		c.outbox = nil // lets the backing array go
	}
	if c.delta {
		c.deltaOut <- deltaMessage(c.current)
	} else {
		c.sotwOut <- sotwMessage(c.current)
	}
}

// startPush decides what the proxy must be sent and sends it. done is called
// once: when the last response has been sent, when there is none, or when the
// stream has ended.
func (c *connection) startPush(p *snapshot.PushRequest, done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		done()
		return
	}
	responses := c.pushResponsesLocked(p)
	if len(responses) == 0 {
		c.server.cfg.Metrics.ConvergenceTime.Observe(time.Since(p.Start).Seconds())
		done()
		return
	}
	push := &inFlight{start: p.Start, remaining: len(responses), done: done}
	for _, r := range responses {
		r.push = push
	}
	responses[0].first = true
	if c.faults.Delays() {
		c.holdBackLocked(push, responses)
		return
	}
	c.pushing = push
	c.enqueueLocked(responses...)
}

// holdBackLocked delays a push, as an injected fault. For the push queue the push
// is over, so that the delay has no other effect: it takes no slot of
// PILOT_PUSH_THROTTLE and does not hold up the next push. One that is due before
// its predecessor follows right after it.
func (c *connection) holdBackLocked(push *inFlight, responses []*response) {
	push.done()
	push.done = func() {}
	began := time.Now()
	due := began.Add(c.faults.DrawDelay(c.node.name))
	if due.Before(c.lastDue) {
		due = c.lastDue
	}
	c.lastDue = due
	c.faults.At(due, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closed {
			c.faults.RecordDelay(time.Since(began))
			c.enqueueLocked(responses...)
		}
	})
}

// send passes the current response to the stream, and then lets the next one
// follow. The server's loop calls it.
func (c *connection) send(nonce string, write func(*xds.Bundle) error) error {
	c.mu.Lock()
	r := c.current
	if r == nil {
		c.mu.Unlock()
		return status.Error(codes.Internal, "response out of order")
	}
	c.watches[r.kind].sent = nonce
	c.mu.Unlock()

	if r.first {
		r.buildTime += c.faults.Burn()
	}
	began := time.Now()
	if err := write(r.content); err != nil {
		return err
	}
	c.server.cfg.Metrics.Sent(r.kind, r.content.Bytes, r.buildTime, time.Since(began))

	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = nil
	if r.push != nil {
		r.push.remaining--
		if r.push.remaining == 0 {
			c.pushing = nil
			c.server.cfg.Metrics.ConvergenceTime.Observe(time.Since(r.push.start).Seconds())
			r.push.done()
		}
	}
	c.sendNextLocked()
	return nil
}

// close ends the connection when its stream has ended.
func (c *connection) close() {
	c.server.remove(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.inbox, c.outbox, c.current = nil, nil, nil
	if c.pushing != nil {
		c.pushing.done()
		c.pushing = nil
	}
}

// rejectLocked records a NACK. Nothing is sent again until the next change: the
// proxy would only reject it again.
func (c *connection) rejectLocked(t xds.Type, detail *rpcstatus.Status) {
	code := codes.Code(uint32(detail.GetCode())).String()
	c.watches[t].lastError = detail.GetMessage()
	c.server.cfg.Metrics.Rejected(t, c.node.name, code)
	c.server.cfg.Log.Debug("proxy rejects its configuration",
		"node", c.node.id, "type", t.String(), "code", code, "message", detail.GetMessage())
}
