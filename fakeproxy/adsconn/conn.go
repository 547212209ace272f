package adsconn

import (
	"context"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/fakeproxy/adsconn/h2"
	"github.com/xdsbench/xdsbench/internal/address"
)

// Envoy's HTTP/2 windows are static and large; so are these: they keep the
// server's flow control and grpc-go's bandwidth estimator out of the
// measurement.
const (
	streamWindow     = 16 << 20
	connectionWindow = 24 << 20

	// readBuffer is taken from a pool once there is something to read.
	readBuffer = 32 << 10
)

// Bounds on what waits for the peer.
const (
	// connectTimeout is for the TCP connection and the peer's HTTP/2 settings.
	connectTimeout = 20 * time.Second
	// openTimeout is for all that opening a stream takes: the connection, and that
	// the peer lets another stream begin.
	openTimeout = 30 * time.Second
	// closeTimeout is for telling a peer that the connection ends. One that reads
	// nothing more is left after that.
	closeTimeout = time.Second
)

// Config is what the connections of a fleet have in common.
type Config struct {
	Clock event.Clock
	// Addresses are the control plane's. Choose returns the index of the one that
	// the next connection goes to.
	Addresses []address.Address
	Choose    func() int
	// MaxReceiveBytes bounds one message. 0 means unlimited.
	MaxReceiveBytes int
	// Lean takes the package h2 for HTTP/2, in place of grpc-go. Shared says that
	// several streams at once may use one connection.
	Lean, Shared bool
}

// Transport makes connections, and has what they share.
type Transport struct {
	cfg     Config
	senders *senders    // of grpc-go's streams
	buffers *h2.Buffers // of the others

	connectTimeout, openTimeout time.Duration
}

// NewTransport returns a Transport, which must be closed.
func NewTransport(cfg Config) *Transport {
	if cfg.MaxReceiveBytes == 0 {
		cfg.MaxReceiveBytes = math.MaxInt
	}
	return &Transport{cfg: cfg, senders: newSenders(), buffers: h2.NewBuffers(), connectTimeout: connectTimeout, openTimeout: openTimeout}
}

// Close ends the goroutines that the connections share, and waits for them. All
// streams must have been closed.
func (t *Transport) Close() { t.senders.close() }

// ConnConfig is what one connection has of its own.
type ConnConfig struct {
	// Source is the address to connect from. Invalid means the system's choice.
	Source netip.Addr
	// MayStop says that StopReading may be called.
	MayStop bool
	// BytesPerSecond, or a Pause before each read, slows the reading down. 0 means
	// at full speed. SlowReads, if set, counts the reads that had to wait.
	BytesPerSecond int
	Pause          time.Duration
	SlowReads      *atomic.Int64
}

// Conn is the connection that one proxy, or a few, have to the control plane.
// It is there while any of them has a stream.
type Conn struct {
	transport *Transport
	cfg       ConnConfig
	meter     meter
	socket    atomic.Pointer[socket] // the latest

	mu     sync.Mutex // guards latest, and the users of all clients
	latest *usedClient
}

// client is one HTTP/2 connection to the control plane.
type client interface {
	// open opens a stream, which ends with ctx.
	open(ctx context.Context, method string) (carrier, error)
	// usable reports whether further streams may be opened.
	usable() bool
	close() error
}

// carrier carries the messages of one stream.
type carrier interface {
	send(r *Request)
	serve(handle func(m *Message) error) error
	// close returns when nothing is being sent any more. The stream's context has ended.
	close()
}

// usedClient is a client, and who uses it.
type usedClient struct {
	client
	address int // by index
	users   int
}

// NewConn returns a connection that is opened by its first stream.
func (t *Transport) NewConn(cfg ConnConfig) *Conn {
	return &Conn{transport: t, cfg: cfg, meter: meter{clock: t.cfg.Clock}}
}

// Bytes returns what was read from and written to the sockets so far.
func (c *Conn) Bytes() (in, out int64) { return c.meter.in.Load(), c.meter.out.Load() }

// StopReading leaves the present connection open and reads it no more.
func (c *Conn) StopReading() {
	if s := c.socket.Load(); s != nil && s.pacer != nil {
		s.pacer.stop()
	}
}

// acquire returns the connection's client, opened lazily by its first stream. All
// attempts of one user are to one address; the next user of a connection that nobody
// used, or that takes no further streams, gets an address chosen anew.
func (c *Conn) acquire() (*usedClient, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest == nil || !c.latest.usable() {
		i := c.transport.cfg.Choose()
		cl, err := c.newClient(c.transport.cfg.Addresses[i])
		if err != nil {
			return nil, err
		}
		c.latest = &usedClient{client: cl, address: i}
	}
	c.latest.users++
	return c.latest, nil
}

func (c *Conn) newClient(to address.Address) (client, error) {
	if c.transport.cfg.Lean {
		return &leanClient{conn: c, to: to}, nil
	}
	return newGRPCClient(c, to)
}

// authority is the host that the peer is called by. A unix socket has none.
func authority(a address.Address) string {
	if a.Network == "unix" {
		return "localhost"
	}
	return a.Endpoint
}

// release closes a client after its last user.
func (c *Conn) release(u *usedClient) error {
	c.mu.Lock()
	u.users--
	last := u.users == 0
	if last && c.latest == u {
		c.latest = nil
		c.socket.Store(nil)
	}
	c.mu.Unlock()
	if !last {
		return nil
	}
	return u.close()
}
